import { assert, layer } from "@effect/vitest"
import { Config, Effect } from "effect"
import { playRandomly, type Send } from "../../support/ModelRun.ts"
import { sendByWire, sendTogether } from "../../support/ModelSend.ts"
import { serviceLayer } from "../../support/TestService.ts"

const limits = { tables: 3, rows: 6, storage: 900, row: 300, batch: 6, versions: 3 }

const variables = {
  LIMIT_TABLES: "3",
  LIMIT_ROWS_PER_TABLE: "6",
  LIMIT_STORAGE_BYTES: "900",
  LIMIT_ROW_BYTES: "300",
  LIMIT_BATCH_OPERATIONS: "6",
  LIMIT_VERSIONS_PER_ROW: "3"
}

/** Sequences with seeds of their own, four at a time; `MODEL_SEED` plays the one that a failure named. */
const playAll = Effect.fnUntraced(function* <E, R>(
  send: Send<E, R>,
  options: { readonly groupSize: number; readonly length: number; readonly sequences: number }
) {
  const { groupSize, length, sequences } = options
  const chosen = yield* Config.option(Config.Int("MODEL_SEED"))
  const first = Date.now() % 1_000_000_000
  const seeds = chosen._tag === "Some" ? [chosen.value] : Array.from({ length: sequences }, (_, index) => first + index)
  const lengths = yield* Effect.forEach(
    seeds,
    Effect.fnUntraced(function* (seed) {
      const { fault, operations } = yield* playRandomly(send, limits, { groupSize, length, seed })
      if (fault !== undefined) assert.fail(fault)
      return operations
    }),
    { concurrency: 4 }
  )
  const operations = lengths.reduce((sum, one) => sum + one, 0)
  yield* Effect.sync(() =>
    process.stdout.write(`${operations} operations, MODEL_SEED ${seeds[0]} to ${seeds.at(-1)}\n`)
  )
})

layer(serviceLayer(variables), { excludeTestServices: true })("The service and a model of it", (it) => {
  it.effect(
    "answer 3,000 random requests alike, one after another over the wire",
    () => playAll(sendByWire, { groupSize: 1, length: 150, sequences: 20 }),
    180_000
  )

  it.effect(
    "answer 9,000 random operations alike that are sent a few at once",
    () => playAll(sendTogether, { groupSize: 8, length: 34, sequences: 60 }),
    180_000
  )
})
