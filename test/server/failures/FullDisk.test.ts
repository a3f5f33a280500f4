import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { callTool, newConnection } from "../../support/Mcp.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { makeLinks } from "../links/LinkCalls.ts"

/** Makes every write to these tables fail as PostgreSQL does when the disk is full, until the scope closes. */
const fullDisk = Effect.fnUntraced(function* (tables: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END'
  `
  for (const table of tables) {
    yield* Effect.acquireRelease(
      sql`CREATE TRIGGER refuse_row BEFORE INSERT OR UPDATE ON ${sql(table)} FOR EACH ROW EXECUTE FUNCTION refuse_row()`,
      () => Effect.orDie(sql`DROP TRIGGER refuse_row ON ${sql(table)}`)
    )
  }
})

const everyTable = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const found = yield* sql<{ tablename: string }>`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`
  return found.map(({ tablename }) => tablename)
})

layer(serviceLayer())("A service whose database has no disk space left", (it) => {
  it.effect("answers writes with 503, changes nothing, still reads, and goes on once there is space", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* request("POST", "/v1/t", { key, body: `{"n":1}` })
      const batch = {
        operations: [
          { action: "delete", filter: { n: 1 } },
          { action: "add", row: { n: 2 } }
        ]
      }
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* fullDisk(["rows"])
          const refused = yield* request("POST", "/v1/t/batch", { key, body: JSON.stringify(batch) })
          assert.strictEqual(refused.status, 503)
          assert.strictEqual(bodyOf(refused)["code"], "unavailable")
          assert.isNotNull(refused.headers.get("retry-after"))
          assert.notInclude(refused.text, "extend")
          assert.include(refused.text, "The database has no room")
          const rows = bodyOf<{ rows: Array<{ n: number }> }>(yield* request("GET", "/v1/t", { key })).rows
          assert.deepStrictEqual(
            rows.map(({ n }) => n),
            [1]
          )
        })
      )
      assert.strictEqual((yield* request("POST", "/v1/t/batch", { key, body: JSON.stringify(batch) })).status, 200)
      assert.strictEqual((yield* request("GET", "/v1/t/count", { key })).text, `{"count":1}`)
    })
  )
})

/** Makes it so long ago that keys, connections and sessions were used that their next use is noted. */
const unused = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  for (const table of ["api_keys", "connections", "browser_sessions"]) {
    yield* sql`UPDATE ${sql(table)} SET last_used_at = last_used_at - interval '2 hours'`
  }
})

layer(serviceLayer({ LIMIT_READS_PER_MINUTE: "8" }))("A service that can write nothing at all", (it) => {
  it.effect("answers what reads at every door, within a key's limit, and refuses what writes", () =>
    Effect.gen(function* () {
      const { apiKey: key, cookie, token } = yield* newConnection()
      const added = bodyOf<{ id: string }>(yield* request("POST", "/v1/t", { key, body: `{"n":1}` }))
      const row = yield* makeLinks(key, "row", { table: "t", id: added.id })
      const query = yield* makeLinks(key, "query", { table: "t" })
      yield* unused
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* fullDisk(yield* everyTable)
          const reads = ["", "/count", `/versions?id=${added.id}`].map((path) => `/v1/t${path}`)
          for (const path of [...reads, "/v1/_tables", "/v1/_usage", "/v1/_export"]) {
            const { status, text } = yield* request("GET", path, { key })
            assert.strictEqual(status, 200, `${path} ${text}`)
          }
          for (const path of [
            row.view,
            `${row.view}?view=history`,
            `${row.view}/download`,
            query.view,
            query.download
          ]) {
            assert.strictEqual((yield* request("GET", path)).status, 200, path)
          }
          for (const tool of ["query", "count"]) {
            assert.isUndefined((yield* callTool(token, tool, { table: "t" })).isError, tool)
          }
          assert.strictEqual((yield* request("GET", "/apps", { headers: { cookie } })).status, 200)

          assert.strictEqual((yield* request("POST", "/v1/t", { key, body: "{}" })).status, 503)
          assert.isTrue((yield* callTool(token, "add", { table: "t", row: {} })).isError)
          const saved = yield* request("PATCH", row.view, { body: "{}" })
          assert.strictEqual(saved.status, 503)

          const more = yield* Effect.forEach([1, 2, 3], () => request("GET", "/v1/t", { key }))
          assert.deepStrictEqual(
            more.map(({ status }) => status),
            [200, 200, 429]
          )
        })
      )
      assert.strictEqual((yield* request("POST", "/v1/t", { key, body: "{}" })).status, 201)
    })
  )
})
