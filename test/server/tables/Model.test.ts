import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { anotherInstance } from "../../support/Instances.ts"
import { playConcurrently } from "../../support/ModelHistory.ts"
import { limits, limitVariables as variables, seeds } from "../../support/ModelPlays.ts"
import {
  connectedAccount,
  freshAccount,
  playRandomly,
  type Account,
  type PlayOptions,
  type Send
} from "../../support/ModelRun.ts"
import { sendByTools, sendByWire, sendTogether } from "../../support/ModelSend.ts"
import type { ModelOperation } from "../../support/ModelValues.ts"
import { serviceLayer } from "../../support/TestService.ts"

/** Sequences with seeds of their own, four at a time. */
const playAll = Effect.fnUntraced(function* <E, R, E2, R2>(
  open: Effect.Effect<Account, E2, R2>,
  send: Send<E, R>,
  { sequences, ...options }: Omit<PlayOptions, "seed"> & { readonly sequences: number }
) {
  const chosen = yield* seeds(sequences)
  const lengths = yield* Effect.forEach(
    chosen,
    Effect.fnUntraced(function* (seed) {
      const { fault, operations } = yield* playRandomly(open, send, limits, { ...options, seed })
      if (fault !== undefined) assert.fail(fault)
      return operations
    }),
    { concurrency: 4 }
  )
  const operations = lengths.reduce((sum, one) => sum + one, 0)
  yield* Effect.sync(() =>
    process.stdout.write(`${operations} operations, MODEL_SEED ${chosen[0]} to ${chosen.at(-1)}\n`)
  )
})

layer(serviceLayer(variables), { excludeTestServices: true })("The service and a model of it", (it) => {
  it.effect(
    "P8 answer 3,000 random requests alike, one after another over the wire",
    () => playAll(freshAccount, sendByWire, { groupSize: 1, length: 150, sequences: 20, extras: { restOnly: true } }),
    180_000
  )

  it.effect(
    "P8 answer 9,000 random operations alike that are sent a few at once",
    () => playAll(freshAccount, sendTogether, { groupSize: 8, length: 34, sequences: 60, extras: { saves: true } }),
    180_000
  )

  it.effect(
    "P8 answer 1,000 random calls of tools alike",
    () => playAll(connectedAccount, sendByTools, { groupSize: 1, length: 125, sequences: 8, extras: {} }),
    180_000
  )

  it.effect(
    "P9 fit one order of the calls, though four senders write through two instances at once",
    () =>
      Effect.gen(function* () {
        const other = yield* anotherInstance(variables)
        const elsewhere: typeof sendTogether = (account, operations) =>
          sendTogether(account, operations).pipe(
            Effect.provideService(Writes, other.rowWrites),
            Effect.provideService(Rows, other.rows)
          )
        const senders = [sendTogether, elsewhere, sendTogether, elsewhere]
        for (const seed of yield* seeds(60)) {
          assert.isUndefined(
            yield* playConcurrently(freshAccount, senders, limits, {
              prepared: 14,
              each: 4,
              extras: { saves: true },
              seed
            })
          )
        }
      }),
    180_000
  )

  it.effect(
    "P9 fit one order of the calls, though they come over REST and /mcp at once",
    () =>
      Effect.gen(function* () {
        const senders = [sendByWire, sendByTools, sendByWire, sendByTools]
        for (const seed of yield* seeds(30)) {
          const options = { prepared: 14, each: 4, extras: {}, seed }
          assert.isUndefined(yield* playConcurrently(connectedAccount, senders, limits, options))
        }
      }),
    180_000
  )

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
      assert.match(fault ?? "", /^MODEL_SEED=\d+\n\{"kind":"query"[^\n]*\}\n\n/)
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
