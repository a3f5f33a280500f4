import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { anotherInstance } from "../../support/Instances.ts"
import { playConcurrently } from "../../support/ModelHistory.ts"
import { limits, limitVariables, seeds } from "../../support/ModelPlays.ts"
import {
  connectedAccount,
  freshAccount,
  playRandomly,
  type Account,
  type PlayOptions,
  type Send
} from "../../support/ModelRun.ts"
import { sendByTools, sendByWire, sendTogether } from "../../support/ModelSend.ts"

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

const throughInstances = Effect.fnUntraced(function* (times: number) {
  const other = yield* anotherInstance(limitVariables)
  const elsewhere: typeof sendTogether = (account, operations) =>
    sendTogether(account, operations).pipe(
      Effect.provideService(Writes, other.rowWrites),
      Effect.provideService(Rows, other.rows)
    )
  const senders = [sendTogether, elsewhere, sendTogether, elsewhere]
  for (const seed of yield* seeds(30 * times)) {
    const options = { prepared: 14, each: 4, extras: { saves: true }, seed }
    assert.isUndefined(yield* playConcurrently(freshAccount, senders, limits, options))
  }
})

const throughDoors = Effect.fnUntraced(function* (times: number) {
  const senders = [sendByWire, sendByTools, sendByWire, sendByTools]
  for (const seed of yield* seeds(15 * times)) {
    const options = { prepared: 14, each: 4, extras: {}, seed }
    assert.isUndefined(yield* playConcurrently(connectedAccount, senders, limits, options))
  }
})

/** Random operations that the service and its model are to answer alike, each so many times as many as it takes at least. */
export const plays = {
  "P8 answer 1,500 random requests alike, one after another over the wire": (times: number) =>
    playAll(freshAccount, sendByWire, { groupSize: 1, length: 150, sequences: 10 * times, extras: { restOnly: true } }),
  "P8 answer 4,500 random operations alike that are sent a few at once": (times: number) =>
    playAll(freshAccount, sendTogether, { groupSize: 8, length: 34, sequences: 30 * times, extras: { saves: true } }),
  "P8 answer 500 random calls of tools alike": (times: number) =>
    playAll(connectedAccount, sendByTools, { groupSize: 1, length: 125, sequences: 4 * times, extras: {} }),
  "P9 fit one order of the calls, though four senders write through two instances at once": throughInstances,
  "P9 fit one order of the calls, though they come over REST and /mcp at once": throughDoors
}
