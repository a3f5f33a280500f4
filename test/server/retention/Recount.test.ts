import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Logger, References } from "effect"
import { SqlClient } from "effect/sql"
import { Recount } from "../../../src/server/retention/Maintenance.ts"
import { SweepPace } from "../../../src/server/retention/Sweeper.ts"
import { newWriter, retentionLayer } from "./Sweeping.ts"

const recount = Effect.flatMap(Recount, (recount) => recount.run)

/** What is logged at Error while the effect runs. */
const errorsOf = Effect.fnUntraced(function* <A, E, R>(effect: Effect.Effect<A, E, R>) {
  const errors: Array<unknown> = []
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel === "Error") errors.push(message)
  })
  yield* effect.pipe(
    Effect.provide(Layer.merge(Logger.layer([logger]), Layer.succeed(References.MinimumLogLevel, "Debug")))
  )
  return errors
})

layer(retentionLayer(), { excludeTestServices: true })("Recount", (it) => {
  it.effect("finds nothing in an account whatever it did", () =>
    Effect.gen(function* () {
      const { add, patch, remove, restore } = yield* newWriter
      const { id } = yield* add({ text: "é\u0000 and \ud83d\ude00", n: 1 }, "key")
      yield* patch(id, { n: "long ".repeat(1000), m: 1 })
      yield* remove({ m: 1 })
      yield* restore(id, 1)
      yield* add({ n: 2 })
      yield* remove({ n: 2 })
      const { accounts, drifted } = yield* recount
      assert.deepStrictEqual({ accounts, drifted }, { accounts: 1, drifted: 0 })
    })
  )

  it.effect("sees no drift in an account that is being written", () =>
    Effect.gen(function* () {
      const { add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      const counts = Effect.forEach(Array.from({ length: 30 }), () => recount)
      const writes = Effect.forEach(
        Array.from({ length: 200 }, (_, n) => n),
        (n) => Effect.all([patch(id, { n }), add({ n }, `key ${n}`)], { concurrency: 2 }),
        { concurrency: 4 }
      )
      const [results] = yield* Effect.all([counts, writes], { concurrency: 2 })
      assert.deepStrictEqual(
        results.flatMap(({ drifts }) => drifts),
        []
      )
    })
  )

  it.effect("says which counters of which account drifted, and repairs none", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, add, patch } = yield* newWriter
      const healthy = yield* newWriter
      yield* healthy.add({ n: 1 })
      const { id } = yield* add({ n: 1 }, "key")
      yield* patch(id, { n: 22 })
      yield* sql`
        UPDATE accounts
        SET storage_bytes = storage_bytes + 1, version_bytes = version_bytes - 2, idempotency_bytes = 0
        WHERE account_id = ${accountId}
      `
      yield* sql`UPDATE tables SET rows = 5 WHERE account_id = ${accountId}`
      yield* sql`INSERT INTO tables (account_id, name, rows) VALUES (${accountId}, 'ghost', 3)`
      const held = yield* sql<{ bytes: number }>`
        SELECT bytes FROM idempotency_records WHERE account_id = ${accountId}
      `
      const expected = [
        { account_id: accountId, counter: "idempotency_bytes", recorded: 0, counted: held[0]!.bytes },
        { account_id: accountId, counter: "rows", table: "ghost", recorded: 3, counted: 0 },
        { account_id: accountId, counter: "rows", table: "notes", recorded: 5, counted: 1 },
        { account_id: accountId, counter: "storage_bytes", recorded: 9, counted: 8 },
        { account_id: accountId, counter: "version_bytes", recorded: 5, counted: 7 }
      ] as const
      const errors = yield* errorsOf(recount)
      assert.strictEqual(errors.length, 6)
      assert.deepStrictEqual(
        errors.slice(0, 5),
        expected.map((drift) => ["A counter drifted", drift])
      )
      const again = yield* Effect.provideService(recount, SweepPace, { rows: 1, batches: 1, pages: 1, pause: 0 })
      assert.deepStrictEqual(again.drifts, [...expected])
      assert.strictEqual(again.drifted, 5)
    })
  )

  it.effect("finds rows whose table has no counter", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, add } = yield* newWriter
      yield* add({ n: 1 })
      yield* sql`DELETE FROM tables WHERE account_id = ${accountId}`
      const { drifts } = yield* recount
      assert.deepStrictEqual(
        drifts.filter(({ account_id }) => account_id === accountId),
        [{ account_id: accountId, counter: "rows", table: "notes", recorded: 0, counted: 1 }]
      )
    })
  )

  it.effect("counts every drift, and tells the first thousand", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const before = yield* recount
      const { accountId } = yield* newWriter
      yield* sql`
        INSERT INTO tables (account_id, name, rows)
        SELECT ${accountId}, 'ghost' || n, 1 FROM generate_series(1, 1001) AS n
      `
      const { drifted, drifts } = yield* recount
      assert.strictEqual(drifted, before.drifted + 1001)
      assert.lengthOf(drifts, 1000)
    })
  )
})
