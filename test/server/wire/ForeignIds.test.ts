import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { randomUUID } from "node:crypto"
import { alike, dumpOf } from "../../support/AccountCopies.ts"
import { newConnection } from "../../support/Mcp.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { operations } from "./Operations.ts"
import { jsonOf, wire, type WireAnswer } from "./Wire.ts"

type Request = readonly [method: string, path: string, body?: string]

const filter = encodeURIComponent('{"id":"$id"}')
const imported = '{"id":"$id","created_at":"2026-01-01T00:00:00.000Z","updated_at":"2026-01-01T00:00:00.000Z","n":1}'

/**
 * The requests with which each operation can name what another account has: a live row, a deleted one, their table, an
 * API key, a connection and an Idempotency-Key. Operations that name nothing are asked all the same.
 */
const requests: Readonly<Record<string, ReadonlyArray<Request>>> = {
  "rows.query": [
    ["GET", "/v1/$table"],
    ["GET", `/v1/$table?filter=${filter}`]
  ],
  "rows.add": [["POST", "/v1/$table", '{"n":1}']],
  "rows.delete": [
    ["DELETE", "/v1/$table", '{"filter":{"id":"$id"}}'],
    ["DELETE", "/v1/$table", '{"filter":{"n":1}}']
  ],
  "rows.upsert": [
    ["POST", "/v1/$table/upsert", '{"key":"n","row":{"n":1,"id":"$id"}}'],
    ["POST", "/v1/$table/upsert", '{"key":"n","row":{"n":1}}']
  ],
  "rows.batch": [
    ["POST", "/v1/$table/batch", '{"operations":[{"action":"update_row","id":"$id","patch":{"m":1}}]}'],
    ["POST", "/v1/$table/batch", '{"operations":[{"action":"delete","filter":{"id":"$id"}}]}'],
    ["POST", "/v1/$table/batch", '{"operations":[{"action":"add","row":{"n":1},"idempotencyKey":"$once"}]}']
  ],
  "rows.updateRow": [["POST", "/v1/$table/update_row", '{"id":"$id","patch":{"m":1}}']],
  "rows.updateWhere": [["POST", "/v1/$table/update_where", '{"filter":{"id":"$id"},"patch":{"m":1}}']],
  "rows.count": [
    ["GET", "/v1/$table/count"],
    ["GET", `/v1/$table/count?filter=${filter}`]
  ],
  "changes.list": [
    ["GET", "/v1/_changes"],
    ["GET", "/v1/_changes?table=$table"]
  ],
  "changes.undo": [["POST", "/v1/_undo", '{"change":2}']],
  "versions.deleted": [["GET", "/v1/$table/deleted"]],
  "versions.list": [
    ["GET", "/v1/$table/versions?id=$id"],
    ["GET", "/v1/$table/versions?id=$gone"]
  ],
  "versions.restore": [
    ["POST", "/v1/$table/restore", '{"id":"$id","version":1}'],
    ["POST", "/v1/$table/restore", '{"id":"$gone","version":1}']
  ],
  "tables.list": [["GET", "/v1/_tables"]],
  "tables.search": [["GET", "/v1/_search?search=x"]],
  "tables.export": [["GET", "/v1/_export"]],
  "tables.usage": [["GET", "/v1/_usage"]],
  "tables.import": [
    ["POST", "/v1/_import?dry_run=true", `{"tables":{"$table":[${imported}]}}`],
    ["POST", "/v1/_import", `{"tables":{"$table":[${imported}]}}`]
  ],
  "keys.list": [["GET", "/v1/_keys"]],
  "keys.create": [["POST", "/v1/_keys", '{"name":"$once"}']],
  "keys.revoke": [["DELETE", "/v1/_keys/$key"]],
  "links.row": [
    ["POST", "/v1/_row_links", '{"table":"$table","id":"$id"}'],
    ["POST", "/v1/_row_links", '{"table":"$table","id":"$gone"}']
  ],
  "links.textField": [["POST", "/v1/_text_field_links", '{"table":"$table","id":"$id","field":"text"}']],
  "links.query": [["POST", "/v1/_query_links", '{"table":"$table","filter":{"id":"$id"}}']],
  "connections.list": [["GET", "/v1/_connections"]],
  "connections.revoke": [["DELETE", "/v1/_connections/$connection"]],
  "account.delete": [["DELETE", "/v1/_account", '{"email":"$email"}']]
}

type Names = Readonly<Record<"table" | "id" | "gone" | "key" | "connection" | "email" | "once", string>>

const fill = (text: string, names: Names) => text.replaceAll(/\$(\w+)/g, (_, name: keyof Names) => names[name])

/** An account that has one of everything, and the names of it. */
const withEverything = Effect.gen(function* () {
  const { accountId, apiKey: key, email } = yield* newConnection()
  const sql = yield* SqlClient.SqlClient
  yield* sql`INSERT INTO account_emails (email, account_id) VALUES (${email}, ${accountId})`
  // A key stands for one request of each operation on a table, so that each of them has to have one.
  const write = Effect.fnUntraced(function* (method: string, path: string, body: string) {
    const answer = yield* wire(method, path, { key, body, headers: { "idempotency-key": "once" } })
    assert.include([200, 201], answer.status, answer.text)
    return answer
  })
  const { id } = jsonOf<{ id: string }>(yield* write("POST", "/v1/private", '{"n":1}'))
  const gone = jsonOf<{ id: string }>(yield* wire("POST", "/v1/private", { key, body: '{"gone":1}' })).id
  yield* write("POST", "/v1/private/update_row", `{"id":"${id}","patch":{"m":1}}`)
  yield* write("DELETE", "/v1/private", '{"filter":{"gone":1}}')
  yield* write("POST", "/v1/private/upsert", '{"key":"k","row":{"k":1}}')
  yield* write("POST", "/v1/private/update_where", '{"filter":{"k":1},"patch":{"m":1}}')
  yield* write("POST", "/v1/private/batch", '{"operations":[{"action":"add","row":{}}]}')
  yield* write("POST", "/v1/private/restore", `{"id":"${id}","version":1}`)
  yield* write("POST", "/v1/_import", `{"tables":{"imported":[${imported.replace("$id", randomUUID())}]}}`)
  yield* wire("POST", "/v1/private/update_row", { key, body: `{"id":"${id}","patch":{"text":"x"}}` })
  const other = jsonOf<{ id: string }>(yield* wire("POST", "/v1/_keys", { key, body: '{"name":"other"}' })).id
  const { connections } = jsonOf<{ connections: ReadonlyArray<{ id: string }> }>(
    yield* wire("GET", "/v1/_connections", { key })
  )
  yield* wire("POST", "/v1/_row_links", { key, body: JSON.stringify({ table: "private", id }) })
  const names: Names = { table: "private", id, gone, key: other, connection: connections[0]!.id, email, once: "once" }
  return { accountId, names }
})

const randomNames = (): Names => ({
  table: "private",
  id: randomUUID(),
  gone: randomUUID(),
  key: randomUUID(),
  connection: randomUUID(),
  email: "nobody@example.com",
  once: "unused"
})

const told = ({ headers, status, text }: WireAnswer, accountId: string, names: Names) => {
  const values = Object.entries(names).filter(([name]) => name !== "table")
  const own = values.reduce((rest, [name, value]) => rest.replaceAll(value, name), text)
  return {
    status,
    headers: Object.keys(headers).toSorted(),
    // What a key may still send grows with time, here by one every 60 microseconds.
    body: alike(own, accountId).replaceAll(/"(prefix|remaining)":("[^"]*"|\{[^}]*\})/g, "$1")
  }
}

layer(serviceLayer(), { excludeTestServices: true })("A stranger's request", (it) => {
  it.effect("P25 is known for every operation of an account", () =>
    Effect.sync(() => {
      const names = Object.keys(operations).filter((name) => !name.startsWith("auth."))
      assert.deepStrictEqual(Object.keys(requests).toSorted(), names.toSorted())
    })
  )

  for (const [operation, list] of Object.entries(requests)) {
    it.effect(`P25 that names what another account has is answered as one that names nothing (${operation})`, () =>
      Effect.gen(function* () {
        const { accountId, names } = yield* withEverything
        const before = yield* dumpOf(accountId)
        const random = randomNames()
        for (const [method, path, body] of list) {
          for (const isKeyed of method === "GET" ? [false] : [false, true]) {
            const [theirs, nobodys] = yield* Effect.forEach([names, random], (given) =>
              Effect.gen(function* () {
                const stranger = yield* newAccount
                const answer = yield* wire(method, fill(path, given), {
                  key: stranger.apiKey,
                  body: body === undefined ? undefined : fill(body, given),
                  headers: isKeyed ? { "idempotency-key": given.once } : {}
                })
                return told(answer, stranger.accountId, given)
              })
            )
            assert.deepStrictEqual(theirs, nobodys, `${method} ${path} ${body}${isKeyed ? " with a key" : ""}`)
          }
        }
        assert.deepStrictEqual(yield* dumpOf(accountId), before)
      })
    )
  }
})
