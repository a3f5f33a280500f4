import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

/** Makes every insert of a row fail as PostgreSQL does when the disk is full, until the scope closes. */
const fullDisk = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql
    AS 'BEGIN RAISE EXCEPTION ''could not extend file'' USING ERRCODE = ''53100''; END'
  `
  yield* Effect.acquireRelease(
    sql`CREATE TRIGGER refuse_row BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION refuse_row()`,
    () => Effect.orDie(sql`DROP TRIGGER refuse_row ON rows`)
  )
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
          yield* fullDisk
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
