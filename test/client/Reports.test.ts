import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted, Schedule } from "effect"
import { AgentMemory, layer as layerClient } from "../../src/client/EffectClient.ts"
import { createClient, type AgentMemoryError } from "../../src/client/createClient.ts"
import { waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { rejection, withClient } from "../support/Client.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../support/Database.ts"
import { signUp, startService } from "../support/ServiceProcess.ts"
import { serviceLayer } from "../support/TestService.ts"

interface Item {
  readonly sku: string
  readonly name?: string
  readonly qty?: number | null
}

layer(serviceLayer({ LIMIT_ROWS_PER_TABLE: "100" }), { excludeTestServices: true })("Through the client,", (it) => {
  // https://github.com/supabase/supabase-js/issues/1653
  it.effect("C19 an upsert replaces the row, and says so when its key is missing", () =>
    withClient(async (memory) => {
      const items = memory.table<Item>("items")
      const first = await items.upsert({ key: "sku", row: { sku: "a", name: "n", qty: 1 } })
      const second = await items.upsert({ key: "sku", row: { sku: "a", qty: 2 } })
      assert.deepStrictEqual([first.created, second.created, second.row.id], [true, false, first.row.id])
      assert.deepStrictEqual(Object.keys(second.row), ["id", "created_at", "updated_at", "sku", "qty"])
      const error = (await rejection(items.upsert({ key: "sku", row: {} as Item }))) as AgentMemoryError
      assert.deepInclude({ ...error }, { code: "invalid_request", status: 400 })
      assert.strictEqual(error.errors?.[0]?.path, "/key")
      assert.isNull((await items.upsert({ key: "sku", row: { sku: "a", qty: null } })).row.qty)
      assert.isTrue((await items.upsert({ key: "sku", row: { sku: "b" } })).created)
      assert.strictEqual(await items.count(), 2)
    })
  )

  // https://github.com/typicode/json-server/issues/565
  it.effect("C20 no concurrent write is lost", () =>
    withClient(async (memory, { apiKey, baseUrl }) => {
      const { id } = await memory.table("t").add({})
      const numbers = Array.from({ length: 25 }, (_, n) => n)
      const clients = [memory, createClient({ apiKey, baseUrl })].map((client) => client.table("t"))
      const effects = Effect.gen(function* () {
        const table = (yield* AgentMemory).table("t")
        yield* Effect.forEach(
          numbers,
          (n) => Effect.andThen(table.add({ n }), table.updateRow({ id, patch: { [`e${n}`]: n } })),
          { concurrency: "unbounded" }
        )
      }).pipe(Effect.provide(layerClient({ apiKey: Redacted.make(apiKey), baseUrl })))
      await Promise.all([
        Effect.runPromise(effects),
        ...clients.flatMap((table, index) =>
          numbers.flatMap((n) => [table.add({ n }), table.updateRow({ id, patch: { [`p${index}_${n}`]: n } })])
        )
      ])
      const { rows } = await memory.table("t").query({ limit: 1000 })
      assert.lengthOf(rows, 76)
      assert.lengthOf(new Set(rows.map((row) => row.id)), 76)
      const patched = (await memory.table("t").query({ filter: { id } })).rows[0]!
      assert.lengthOf(Object.keys(patched), 3 + 75)
      const versions = (await memory.table("t").versions(id)).map(({ version }) => version)
      assert.deepStrictEqual(versions, [75, 74, 73, 72, 71, 70, 69, 68, 67, 66])
    })
  )

  it.effect("C28 a refused write can be repeated with its key once there is room", () =>
    withClient(async (memory) => {
      const table = memory.table("t")
      await table.batch((b) => Array.from({ length: 100 }, (_, n) => b.add({ n })))
      const add = () => table.add({ late: true }, { idempotencyKey: "k" })
      const error = (await rejection(add())) as AgentMemoryError
      assert.deepInclude({ ...error }, { code: "row_limit", limit: 100, current: 100 })
      await table.delete({ n: 7 })
      const added = await add()
      assert.deepStrictEqual(await add(), added)
      assert.strictEqual(await table.count({ late: true }), 1)
    })
  )
})

layer(DatabaseLayer, { excludeTestServices: true, timeout: 120_000 })((it) => {
  // https://github.com/VilledeMontreal/express-idempotency/issues/32
  it.effect(
    "C28 one call of the client outlives the process that is killed before and after its insert, and makes one row",
    () =>
      Effect.gen(function* () {
        const { url } = yield* DatabaseUrl
        const admin = yield* poolOf(url)
        // Holds a write between its insert and its commit, as long as somebody has this lock.
        yield* admin`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock_shared(28); RETURN NULL; END'`
        yield* admin`CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON rows DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()`
        const waiting = Effect.map(
          admin`SELECT pid FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()`,
          (locks) => locks.length
        )
        let service = yield* startService({ DATABASE_URL: url })
        const { port } = service
        const memory = createClient({ apiKey: yield* signUp(service.url), baseUrl: service.url, maxRetries: 30 })
        for (const [table, hold] of [
          ["a", admin`LOCK TABLE rows IN EXCLUSIVE MODE`],
          ["b", admin`SELECT pg_advisory_xact_lock(28)`]
        ] as const) {
          const added = yield* admin.withTransaction(
            Effect.gen(function* () {
              yield* hold
              const call = yield* Effect.forkDetach(Effect.promise(() => memory.table(table).add({ n: 1 })))
              yield* Effect.repeat(waiting, { until: (count) => count > 0, schedule: Schedule.spaced("10 millis") })
              yield* service.signal("SIGKILL")
              yield* waitUntil(service.hasEnded, 10_000)
              return call
            })
          )
          service = yield* startService({ DATABASE_URL: url }, port)
          const row = yield* Fiber.join(added)
          const { rows } = yield* Effect.promise(() => memory.table(table).query())
          assert.deepStrictEqual(rows, [row], table)
        }
      }),
    120_000
  )
})
