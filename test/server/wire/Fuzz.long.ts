import { layer } from "@effect/vitest"
import { Effect } from "effect"
import { longBudget } from "../../support/LongBudget.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { fuzz } from "./FuzzRun.ts"

const isBudgetSpent = longBudget()

// Other requests each day.
const firstSeed = Math.floor(Date.now() / 86_400_000) * 100

layer(serviceLayer(), { excludeTestServices: true })("Many random requests", (it) => {
  it.effect("P19, P20 get what their operation declares, as it is described", () =>
    Effect.gen(function* () {
      for (let round = 0; round < 15 && !(yield* isBudgetSpent); round++) {
        yield* fuzz(1000, firstSeed + round)
      }
    })
  )
})
