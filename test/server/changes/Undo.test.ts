import { assert, layer } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Changes } from "../../../src/server/versions/Changes.ts"
import { Tables } from "../../../src/server/tables/Tables.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { backup, backupRow } from "../../support/Backups.ts"
import { actorNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { longestBlock, longestTurn } from "../../support/LongestTurn.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, wire } from "../wire/Wire.ts"

interface Row {
  readonly id: string
  readonly created_at: string
  readonly updated_at: string
}

/** Members of a row that are hard to keep. */
const odd = String.raw`{"":1.10,"__proto__":12345678901234567890,"s":"\u0000\ud800 é","10":1e400,"o":{"b":[],"a":null}}`

const changeOf = ({ headers }: { readonly headers: Headers }) => Number(headers.get("x-change"))

const send = Effect.fnUntraced(function* (key: string, method: string, path: string, body?: string) {
  const answer = yield* request(method, path, { key, ...(body !== undefined && { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer
})

/** The account's rows, but for the times of their changes. */
const content = Effect.fnUntraced(function* (key: string) {
  const { text } = yield* send(key, "GET", "/v1/_export")
  return text.replaceAll(/"updated_at":"[^"]*"/g, '"updated_at":""')
})

const undo = (key: string, change: number, query = "") =>
  send(key, "POST", `/v1/_undo${query}`, JSON.stringify({ change }))

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "10000" }), { excludeTestServices: true })("Undo", (it) => {
  it.effect("P41 takes back a whole write of any kind, and undoing the undo gives the same bytes", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const { id } = bodyOf<Row>(yield* send(key, "POST", "/v1/notes", odd))
      const other = bodyOf<Row>(yield* send(key, "POST", "/v1/notes", '{"n":1}'))
      yield* send(key, "POST", "/v1/notes/update_row", `{"id":"${other.id}","patch":{"n":2}}`)
      yield* send(key, "POST", "/v1/tasks", '{"n":3}')
      const rows = backup({ tasks: [backupRow(1), backupRow(2)], plans: [backupRow(3)] })
      const writes = [
        ["POST", "/v1/notes", odd],
        ["POST", "/v1/notes/update_row", `{"id":"${id}","patch":{"s":"","10":2}}`],
        ["POST", "/v1/notes/update_where", '{"filter":{"n":2},"patch":{"n":2.0}}'],
        ["POST", "/v1/notes/upsert", '{"key":"n","row":{"n":2,"x":1}}'],
        ["POST", "/v1/notes/upsert", '{"key":"n","row":{"n":7}}'],
        ["DELETE", "/v1/notes", `{"filter":{"id":"${id}"}}`],
        ["POST", "/v1/notes/restore", `{"id":"${other.id}","version":1}`],
        ["POST", "/v1/_import", rows],
        [
          "POST",
          "/v1/notes/batch",
          `{"operations":[
            {"action":"add","row":{"n":8}}, {"action":"update_where","filter":{"n":8},"patch":{"m":1}},
            {"action":"add","row":{"n":9}}, {"action":"delete","filter":{"n":9}},
            {"action":"update_row","id":"${id}","patch":{"b":1}}, {"action":"delete","filter":{"id":"${id}"}}
          ]}`
        ]
      ] as const
      for (const [method, path, body] of writes) {
        const before = yield* content(key)
        const written = yield* send(key, method, path, body)
        const after = yield* content(key)
        assert.notStrictEqual(after, before, path)
        const change = changeOf(written)
        const dry = yield* undo(key, change, "?dry_run=true")
        assert.strictEqual(yield* content(key), after)
        const undone = yield* undo(key, change)
        assert.strictEqual(yield* content(key), before, path)
        assert.deepStrictEqual(bodyOf(undone)["rows"], bodyOf(dry)["rows"])
        assert.strictEqual(bodyOf(undone)["change"], changeOf(undone))
        assert.isNull(dry.headers.get("x-change"))
        const again = yield* undo(key, changeOf(undone))
        assert.strictEqual(yield* content(key), after, path)
        yield* undo(key, changeOf(again))
        assert.strictEqual(yield* content(key), before, path)
        assert.isUndefined(yield* countersFault(accountId))
      }
    })
  )

  it.effect("P41 does nothing, and names the rows, if any row of the write has changed since", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const batch = `{"operations":[{"action":"add","row":{"n":1}},{"action":"add","row":{"n":2}},{"action":"add","row":{"n":3}}]}`
      const added = yield* send(key, "POST", "/v1/notes/batch", batch)
      const ids = bodyOf<{ results: ReadonlyArray<{ result: Row }> }>(added).results.map(({ result }) => result.id)
      const patched = yield* send(key, "POST", "/v1/notes/update_where", '{"filter":{"n":2},"patch":{"m":1}}')
      const removed = yield* send(key, "DELETE", "/v1/notes", '{"filter":{"n":3}}')
      const before = yield* content(key)
      const refused = yield* wire("POST", "/v1/_undo", { key, body: `{"change":${changeOf(added)}}` })
      const { matches, rows } = assertProblem(refused, 409, "changed_since") as object as Record<string, unknown>
      assert.deepStrictEqual([matches, rows], [2, ids.slice(1).map((id) => ({ table: "notes", id }))])
      assert.strictEqual(yield* content(key), before)
      yield* undo(key, changeOf(removed))
      yield* undo(key, changeOf(patched))
      const still = yield* wire("POST", "/v1/_undo", { key, body: `{"change":${changeOf(added)}}` })
      assertProblem(still, 409, "changed_since")
    })
  )

  it.effect("refuses what never was, and what is no longer kept", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, apiKey: key } = yield* newAccount
      yield* send(key, "POST", "/v1/notes", '{"n":1}')
      const patched = yield* send(key, "POST", "/v1/notes/update_where", '{"filter":{"n":1},"patch":{"m":1}}')
      const refused = (change: unknown) => wire("POST", "/v1/_undo", { key, body: JSON.stringify({ change }) })
      assertProblem(yield* refused(99), 404, "change_not_found")
      for (const wrong of [0, -1, 1.5, "1", null]) assertProblem(yield* refused(wrong), 400, "invalid_request")
      const other = yield* newAccount
      const foreign = yield* wire("POST", "/v1/_undo", { key: other.apiKey, body: '{"change":1}' })
      assertProblem(foreign, 404, "change_not_found")
      yield* sql`DELETE FROM versions WHERE account_id = ${accountId}`
      assertProblem(yield* refused(changeOf(patched)), 404, "version_not_found")
    })
  )

  it.effect("is carried out once, however often it is sent with one key", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const added = yield* send(key, "POST", "/v1/notes", '{"n":1}')
      const headers = { "idempotency-key": "once" }
      const once = wire("POST", "/v1/_undo", { key, headers, body: `{"change":${changeOf(added)}}` })
      const answers = yield* Effect.all([once, once, once, once], { concurrency: "unbounded" })
      assert.lengthOf(new Set(answers.map(({ status, text }) => `${status} ${text}`)), 1)
      assert.lengthOf(
        answers.filter(({ headers }) => headers["idempotent-replayed"] === "true"),
        3
      )
    })
  )

  it.effect("holds to the limits of the account", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const rowWrites = yield* Writes
      const many = JsonText.trusted("{}")
      const operations = Array.from({ length: 100 }, () => ({ action: "add", row: many }) as const)
      const add = Effect.fnUntraced(function* (count: number) {
        return yield* rowWrites.batch(yield* actorNow(accountId), { table: "notes" }, operations.slice(0, count))
      })
      for (let n = 0; n < 9; n++) yield* add(100)
      const last = bodyOf<Row>(yield* send(key, "POST", "/v1/notes", '{"last":true}'))
      const removed = yield* send(key, "DELETE", "/v1/notes", `{"filter":{"id":"${last.id}"}}`)
      yield* add(100)
      const refused = yield* wire("POST", "/v1/_undo", { key, body: `{"change":${changeOf(removed)}}` })
      assertProblem(refused, 400, "row_limit")
    })
  )

  it.effect("P43 takes back what a confined actor sees of a write, and nothing of one who may only read", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const rows = backup({ notes: [backupRow(1)], private: [backupRow(2)] })
      const change = changeOf(yield* send(key, "POST", "/v1/_import", rows))
      const [rowWrites, tables, changes] = [yield* Writes, yield* Tables, yield* Changes]
      const full = yield* actorNow(accountId)
      const confined = { ...full, access: { readOnly: false, tables: ["notes"] } }
      const seen = yield* changes.read(confined, { limit: 10 })
      assert.deepStrictEqual(
        seen.changes.map(({ table }) => table),
        ["notes"]
      )
      const readOnly = { ...full, access: { readOnly: true, tables: null } }
      assert.strictEqual((yield* Effect.flip(rowWrites.undo(readOnly, {}, change)))._tag, "InvalidRequest")
      const blind = { ...full, access: { readOnly: false, tables: ["other"] } }
      assert.strictEqual((yield* Effect.flip(rowWrites.undo(blind, {}, change)))._tag, "ChangeNotFound")
      yield* rowWrites.undo(confined, {}, change)
      assert.deepStrictEqual(yield* tables.names(full), ["notes", "private"])
      const { text } = yield* Effect.scoped(
        Effect.flatMap(tables.exportAll(full), ({ text }) =>
          Effect.map(Stream.mkString(text), (whole) => ({ text: whole }))
        )
      )
      assert.deepStrictEqual(Object.keys((JSON.parse(text) as { tables: object }).tables), ["private"])
    })
  )

  it.effect(
    "P34 of 1,000 rows and 25 MB blocks nobody else for long",
    () =>
      Effect.gen(function* () {
        const { accountId, apiKey: key } = yield* newAccount
        const rowWrites = yield* Writes
        const own = `{"on":0,"text":"${"x".repeat(25_900)}"}`
        const operations = Array.from({ length: 100 }, () => ({ action: "add", row: JsonText.trusted(own) }) as const)
        for (let n = 0; n < 10; n++) yield* rowWrites.batch(yield* actorNow(accountId), { table: "notes" }, operations)
        const patch = {
          action: "update_where",
          filter: JsonText.trusted('{"on":0}'),
          patch: JsonText.trusted('{"on":1}')
        } as const
        const { change } = yield* rowWrites.write(
          yield* actorNow(accountId),
          { table: "notes" },
          { ...patch, allowMultiple: true }
        )
        const { longest } = yield* longestTurn(undo(key, change!))
        assert.isBelow(longest, longestBlock())
        assert.strictEqual(bodyOf(yield* send(key, "GET", '/v1/notes/count?filter={"on":0}'))["count"], 1000)
        assert.isUndefined(yield* countersFault(accountId))
      }),
    60_000
  )
})

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "10000" }), { excludeTestServices: true })("Deleted rows", (it) => {
  interface Version {
    readonly id: string
    readonly version: number
    readonly change: number
    readonly operation: string
    readonly row: Row & { readonly n: number }
  }
  interface Page {
    readonly versions: ReadonlyArray<Version>
    readonly has_more: boolean
    readonly next_cursor?: string
  }

  it.effect("are listed with what restores them, last deleted first, until they are back", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const numbers = [1, 2, 3, 4, 5]
      for (const n of numbers) yield* send(key, "POST", "/v1/notes", `{"n":${n}}`)
      yield* send(key, "POST", "/v1/notes/update_where", '{"filter":{"n":2},"patch":{"m":1}}')
      const removed = yield* send(key, "DELETE", "/v1/notes", '{"filter":{"n":1}}')
      yield* send(key, "DELETE", "/v1/notes", '{"filter":{"n":2}}')
      yield* send(key, "DELETE", "/v1/notes", '{"filter":{"n":3}}')
      yield* send(key, "POST", "/v1/tasks", '{"n":9}')
      yield* send(key, "DELETE", "/v1/tasks", '{"filter":{"n":9}}')
      const page = (query: string) => Effect.map(send(key, "GET", `/v1/notes/deleted${query}`), bodyOf<Page>)
      const all = yield* page("")
      assert.deepStrictEqual(
        all.versions.map(({ operation, row, version }) => [row.n, version, operation]),
        [
          [3, 1, "delete"],
          [2, 2, "delete"],
          [1, 1, "delete"]
        ]
      )
      assert.strictEqual(all.versions[2]!.change, changeOf(removed))
      const first = yield* page("?limit=2")
      assert.isTrue(first.has_more)
      const rest = yield* page(`?limit=2&cursor=${first.next_cursor}`)
      assert.deepStrictEqual([...first.versions, ...rest.versions], all.versions)
      const { id, version } = all.versions[1]!
      yield* send(key, "POST", "/v1/notes/restore", JSON.stringify({ id, version }))
      assert.deepStrictEqual(
        (yield* page("")).versions.map(({ row }) => row.n),
        [3, 1]
      )
      yield* undo(key, changeOf(removed))
      assert.deepStrictEqual(
        (yield* page("")).versions.map(({ row }) => row.n),
        [3]
      )
      assert.strictEqual((yield* wire("GET", "/v1/notes/deleted?cursor=x", { key })).status, 400)
      assert.isTrue(Option.isNone(Option.fromNullishOr(rest.next_cursor)))
    })
  )
})
