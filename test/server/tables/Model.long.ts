import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { longBudget } from "../../support/LongBudget.ts"
import { limitVariables } from "../../support/ModelPlays.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { plays } from "./ModelCases.ts"

const isBudgetSpent = longBudget()

layer(serviceLayer(limitVariables), { excludeTestServices: true })("The service and a model of it, ten times", (it) => {
  for (const [name, play] of Object.entries(plays)) {
    it.effect(name, () =>
      Effect.gen(function* () {
        for (let n = 0; n < 10 && !(yield* isBudgetSpent); n++) yield* play(1)
      })
    )
  }
})
