import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { migrationLock } from "../../../src/server/sql/Database.ts"
import { knownMigrations, tables } from "../../../src/server/sql/Migrations.ts"
import { DatabaseLayer, poolOf } from "../../support/Database.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { deletedSeq, fillAsFirstRelease, thingId } from "../../support/OlderDatabase.ts"
import { call, emptyDatabase, ready, spawnService, type ServiceProcess } from "../../support/ServiceProcess.ts"

const countsOf = (sql: SqlClient.SqlClient) =>
  Effect.forEach(
    tables.filter((name) => !["migrations", "maintenance", "changes"].includes(name)),
    (name) =>
      Effect.map(sql<{ count: number }>`SELECT count(*)::integer AS count FROM ${sql(name)}`, ([row]) => ({
        name,
        count: row!.count
      }))
  )

/** A database of the first release, with something in every table, and two processes that were started on it at once. */
class Upgraded extends Context.Service<
  Upgraded,
  Effect.Success<typeof fillAsFirstRelease> & {
    readonly sql: SqlClient.SqlClient
    readonly before: Effect.Success<ReturnType<typeof countsOf>>
    readonly both: ReadonlyArray<ServiceProcess>
  }
>()("agent-memory/test/server/sql/Upgraded") {
  static readonly layer = Layer.effect(
    Upgraded,
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      const [sql, other] = [yield* poolOf(url), yield* poolOf(url)]
      const left = yield* Effect.provideService(fillAsFirstRelease, SqlClient.SqlClient, sql)
      const before = yield* countsOf(sql)
      // Another process brings the database up to date for longer than any statement of a request may take.
      const waiting = other`
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event = 'advisory'
          AND clock_timestamp() - query_start > interval '5200 milliseconds'
      `
      const starting = yield* Effect.gen(function* () {
        yield* sql`SELECT pg_advisory_xact_lock(${migrationLock}::bigint)`
        yield* sql`LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE`
        const variables = { DATABASE_URL: url, BASE_URL: "http://localhost:3000" }
        const both = [yield* spawnService(variables), yield* spawnService(variables)]
        yield* Effect.repeat(waiting, {
          until: (rows) => rows.length === 2 || both.some(({ hasEnded }) => hasEnded())
        })
        return both
      }).pipe(sql.withTransaction)
      return Upgraded.of({ ...left, sql, before, both: yield* Effect.forEach(starting, ready) })
    })
  )
}

/** What a request to a process answers. */
const textOf = (process: ServiceProcess | undefined, path: string, key: string, body?: object) =>
  Effect.map(
    call(`${process!.url}${path}`, { key, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    ({ text }) => text
  )

layer(Upgraded.layer.pipe(Layer.provideMerge(DatabaseLayer)), { excludeTestServices: true, timeout: 90_000 })(
  "A database that the first release left",
  (it) => {
    it.effect("is migrated once by two processes that start at once, and loses nothing", () =>
      Effect.gen(function* () {
        const { before, both, sql } = yield* Upgraded
        assert.deepStrictEqual(
          before.filter(({ count }) => count === 0),
          []
        )
        const applied = yield* sql<{ id: number }>`SELECT migration_id AS id FROM migrations ORDER BY 1`
        assert.deepStrictEqual(
          applied.map(({ id }) => id),
          knownMigrations.map(({ id }) => id)
        )
        assert.deepStrictEqual(
          (yield* countsOf(sql)).filter(({ name }) => name !== "key_buckets"),
          before.filter(({ name }) => name !== "key_buckets")
        )
        for (const { output } of both) assert.notInclude(output(), '"level":"error"')
      })
    )

    it.effect("has rows that are compared, sorted, searched and added up by what they hold", () =>
      Effect.gen(function* () {
        const { both, key } = yield* Upgraded
        const titles = (query: string) =>
          Effect.map(textOf(both[0], `/v1/things?${query}`, key), (text) =>
            [...text.matchAll(/"title":"([^"]+)"/g)].map(([, title]) => title!.slice(0, 8))
          )
        assert.deepStrictEqual(yield* titles("sort=-price"), ["Éclair", "Buy milk", "Refund", "xxxxxxxx"])
        assert.deepStrictEqual(yield* titles("sort=title"), ["Buy milk", "Refund", "xxxxxxxx", "Éclair"])
        const filter = (value: object) => titles(`filter=${encodeURIComponent(JSON.stringify(value))}`)
        assert.deepStrictEqual(yield* filter({ price: { gt: 1 } }), ["Buy milk", "Éclair"])
        assert.deepStrictEqual(yield* filter({ tag: null }), ["Refund"])
        assert.deepStrictEqual(yield* filter({ title: "x".repeat(300) }), ["xxxxxxxx"])
        assert.deepStrictEqual(yield* filter({ tag: { exists: false } }), ["xxxxxxxx"])
        assert.deepStrictEqual(yield* titles("search=éclair"), ["Éclair"])
        assert.include(yield* textOf(both[0], "/v1/_search?search=milk", key), thingId(2))
        assert.include(
          yield* textOf(both[0], "/v1/things/count?sum=price", key),
          '"sum":{"value":12345678901234567889.123,"numbers":3,"others":1}'
        )
        assert.include(
          yield* textOf(both[0], "/v1/_tables?include=fields", key),
          '{"name":"price","types":{"number":3}}'
        )
      })
    )

    it.effect("has no authors of its rows, and a log that begins with the first write", () =>
      Effect.gen(function* () {
        const { both, key, rowId } = yield* Upgraded
        const history = textOf(both[0], `/v1/notes/versions?id=${rowId}`, key)
        const log = textOf(both[0], "/v1/_changes?since=0", key)
        assert.match(yield* history, /"change":null,"changed_by":\{"kind":"key","id":"key",/)
        assert.match(yield* history, /"current":\{"updated_at":"[^"]+","change":null,"changed_by":null\}\}$/)
        assert.strictEqual(yield* log, '{"changes":[],"has_more":false}')
        yield* textOf(both[0], "/v1/notes/update_row", key, { id: rowId, patch: { n: 3 } })
        assert.match(
          yield* history,
          /"current":\{"updated_at":"[^"]+","change":1,"changed_by":\{"kind":"key","id":"key",/
        )
        assert.match(yield* log, /^\{"changes":\[\{"change":1,[^[\]]+"version":2\}\],"has_more":false\}$/)
        assert.match(yield* textOf(both[0], "/v1/_undo", key, { change: 1 }), /^\{"undone":1,"change":2,/)
      })
    )

    it.effect("is served through every door by both", () =>
      Effect.gen(function* () {
        const { both, key, link, rowId, token } = yield* Upgraded
        for (const process of both) {
          const { url } = process
          assert.match(yield* textOf(process, "/v1/notes", key), /"n":\d+\}\],"has_more":false\}$/)
          assert.include(yield* textOf(process, `/v1/notes/versions?id=${rowId}`, key), '"n":1')
          assert.include(yield* textOf(process, "/v1/_connections", key), '"Client"')
          assert.include(
            (yield* call(`${url}/view/${link}/download`, { headers: { host: "localhost:3000" } })).text,
            rowId
          )
          const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"table":"notes"}}}`
          const tool = yield* call(`${url}/mcp`, { key: token, body, headers: { accept: "application/json" } })
          assert.include(tool.text, '"count":1')
          const restored = yield* textOf(process, "/v1/notes/restore", key, { id: rowId, version: 1 })
          assert.include(restored, '"n":1')
        }
      })
    )

    it.effect("gives back a row that was deleted, and takes edits, deletes, undo and deletes for good", () =>
      Effect.gen(function* () {
        const { accountId, both, key, sql } = yield* Upgraded
        const post = (path: string, body: object) => textOf(both[1], `/v1${path}`, key, body)
        const remove = (body: object) =>
          Effect.map(
            call(`${both[1]!.url}/v1/things`, { key, method: "DELETE", body: JSON.stringify(body) }),
            ({ text }) => text
          )
        const deleted = textOf(both[1], "/v1/things/deleted", key)
        const counted = textOf(both[1], "/v1/things/count?sum=price", key)
        const bread = { id: thingId(deletedSeq) }
        assert.match(yield* deleted, new RegExp(`^\\{"versions":\\[\\{"version":1,"id":"${bread.id}".*"Buy bread"`))
        assert.include(yield* post("/things/restore", { ...bread, version: 1 }), '"price":1.5')
        const edits = [{ op: "increment", field: "price", by: 1 }]
        assert.include(yield* post("/things/update_row", { id: thingId(2), edits }), '"price":3')
        const removed = yield* remove({ filter: { price: { lt: 0 } } })
        const change = Number(/"change":(\d+)/.exec(removed)?.[1])
        assert.include(yield* counted, '"count":4,"sum":{"value":12345678901234567894.623,')
        assert.include(yield* post("/_undo", { change }), thingId(3))
        assert.include(yield* counted, '"count":5,"sum":{"value":12345678901234567891.623,')
        assert.include(yield* remove({ filter: bread, forever: true }), '"forgotten":1')
        assert.strictEqual(yield* deleted, '{"versions":[],"has_more":false}')
        assert.isUndefined(yield* Effect.provideService(countersFault(accountId), SqlClient.SqlClient, sql))
      })
    )
  }
)
