import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { playConcurrently } from "../../support/ModelHistory.ts"
import { limits, limitVariables, seeds } from "../../support/ModelPlays.ts"
import { freshAccount, playRandomly } from "../../support/ModelRun.ts"
import { sendTogether } from "../../support/ModelSend.ts"
import type { ModelOperation } from "../../support/ModelValues.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { plays } from "./ModelCases.ts"

layer(serviceLayer(limitVariables), { excludeTestServices: true })("The service and a model of it", (it) => {
  // `npm run test:long` plays on as long as it is let.
  for (const [name, play] of Object.entries(plays)) it.effect(name, () => play(1), 180_000)

  it.effect("are told apart by the one operation that shows a difference, though others came before and with it", () =>
    Effect.gen(function* () {
      // A sender that gets empty answers, always or to some operations.
      const emptied =
        (isEmptied: (operation: ModelOperation) => boolean): typeof sendTogether =>
        (account, operations) =>
          sendTogether(account, operations).pipe(
            Effect.map((answers) =>
              answers.map((answer, n) => (isEmptied(operations[n]!) ? { ...answer, body: {} } : answer))
            )
          )
      const [seed = 1] = yield* seeds(1)
      const forgetful = emptied(({ kind }) => kind === "query")
      const options = { groupSize: 8, length: 34, extras: { saves: true }, seed }
      const { fault } = yield* playRandomly(freshAccount, forgetful, limits, options)
      assert.match(fault ?? "", /^MODEL_SEED=\d+\n(?:\{"kind":"(?!query)[^\n]*\n)*\{"kind":"query"[^\n]*\}\n\n/)
      const senders = [sendTogether, emptied(() => true)]
      const told = yield* playConcurrently(freshAccount, senders, limits, {
        prepared: 14,
        each: 4,
        extras: { saves: true },
        seed
      })
      assert.lengthOf(told?.match(/ => /g) ?? [], 1, told)
      assert.match(told ?? "", /no order of these calls gives these answers$/)
    })
  )
})
