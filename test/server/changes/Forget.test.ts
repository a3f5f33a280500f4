import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { asked } from "../../support/Asked.ts"
import { actorNow, anotherInstance } from "../../support/Instances.ts"
import { done, newConnection } from "../../support/Mcp.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { storedText } from "../../support/StoredText.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { dump } from "../mcp/Dump.ts"
import { assertProblem, wire } from "../wire/Wire.ts"

interface Row {
  readonly id: string
}

interface Deleted {
  readonly deleted: number
  readonly forgotten?: number
  readonly ids?: ReadonlyArray<string>
  readonly has_more?: boolean
  readonly restorable_until?: string | null
  readonly change?: number
}

const send = Effect.fnUntraced(function* (
  key: string,
  method: string,
  path: string,
  body?: string,
  idempotencyKey?: string
) {
  const headers = idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }
  const answer = yield* request(method, path, { key, headers, ...(body !== undefined && { body }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer
})

const deleted = (key: string, path: string, body: object) =>
  Effect.map(send(key, "DELETE", path, JSON.stringify(body)), (answer) => bodyOf<Deleted>(answer))

const day = 86_400_000

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "10000" }), { excludeTestServices: true })("Deletes", (it) => {
  /** The parts of the database's pages in which a text is found. */
  const pagesWith = Effect.fnUntraced(function* (marker: string) {
    const sql = yield* SqlClient.SqlClient
    const tables = yield* sql<{
      name: string
    }>`SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`
    // A freed place keeps its bytes until the page is written anew, once no transaction can see what was there.
    for (const { name } of tables) yield* sql.unsafe(`VACUUM FULL "${name}"`)
    yield* sql`CHECKPOINT`
    const found = yield* sql<{ name: string }>`
      SELECT relname AS name FROM pg_class
      WHERE pg_relation_filepath(oid) IS NOT NULL
        AND position(convert_to(${marker}, 'UTF8') IN pg_read_binary_file(pg_relation_filepath(oid), 0, 100000000, true)) > 0
    `
    return found.map(({ name }) => name)
  })

  it.effect("P42 for good leave no byte of the rows in the database, in memory, or in what is read over any door", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key, token } = yield* newConnection()
      const marker = `marker-${accountId}`
      const there = yield* anotherInstance()
      const row = (n: number) => JSON.stringify({ n, about: "X", text: `${marker} ${n}` })
      const add = (n: number, idempotencyKey?: string) =>
        Effect.map(send(key, "POST", "/v1/notes", row(n), idempotencyKey), (answer) => bodyOf<Row>(answer).id)
      const [live, gone] = [yield* add(1, "k"), yield* add(2)]
      const kept = bodyOf<Row>(yield* send(key, "POST", "/v1/notes", '{"n":3,"about":"Y"}')).id
      yield* send(key, "POST", "/v1/notes/update_row", JSON.stringify({ id: live, patch: { n: marker } }), "update")
      yield* send(
        key,
        "POST",
        "/v1/notes/batch",
        JSON.stringify({
          operations: [{ action: "update_where", filter: { about: "X" }, patch: { more: marker }, allowMultiple: true }]
        }),
        "batch"
      )
      yield* done(token, "upsert", {
        table: "notes",
        key: ["n"],
        row: { n: 2, about: "X", text: marker },
        idempotencyKey: "m"
      })
      const update = yield* send(key, "POST", "/v1/notes/update_row", JSON.stringify({ id: kept, patch: { n: 4 } }))
      const removed = yield* deleted(key, "/v1/notes", { filter: { id: gone } })
      const link = yield* send(key, "POST", "/v1/_row_links", JSON.stringify({ table: "notes", id: live }))
      const field = JSON.stringify({ table: "notes", id: live, field: "text" })
      const textLink = yield* send(key, "POST", "/v1/_text_field_links", field)
      const keptLink = yield* send(key, "POST", "/v1/_row_links", JSON.stringify({ table: "notes", id: kept }))
      const read = Effect.flatMap(actorNow(accountId), (actor) =>
        Effect.map(
          Effect.scoped(there.rows.query(actor, asked("notes", { filter: undefined, sort: undefined, limit: 9 }))),
          ({ text }) => text
        )
      )
      for (const times of [1, 2, 3]) assert.include(yield* read, marker, String(times))
      for (const _ of [1, 2, 3]) yield* send(key, "GET", "/v1/notes")
      assert.include(yield* storedText, marker)

      const before = yield* dump(accountId)
      const dry = yield* deleted(key, "/v1/notes?dry_run=true", { filter: { about: "X" }, forever: true })
      const expected = { deleted: 1, forgotten: 2, ids: [live, gone], restorable_until: null }
      assert.deepStrictEqual(dry, expected)
      const dryCall = { table: "notes", filter: { about: "X" }, forever: true, dryRun: true }
      assert.deepStrictEqual(yield* done(token, "delete", dryCall), {
        dry_run: true,
        matched: 2,
        ids: [live, gone],
        has_more: false
      })
      assert.strictEqual(yield* dump(accountId), before)
      const { change, ...told } = yield* deleted(key, "/v1/notes", { filter: { about: "X" }, forever: true })
      assert.deepStrictEqual(told, expected)

      assert.notInclude(yield* storedText, marker)
      yield* Effect.repeat(pagesWith(marker), { until: (found) => found.length === 0 })
      assert.notInclude(yield* read, marker)
      const reads = ["", "/deleted", `/versions?id=${live}`, `/versions?id=${gone}`].map((path) => `/v1/notes${path}`)
      for (const path of [...reads, "/v1/_export", "/v1/_changes"]) {
        assert.notInclude((yield* send(key, "GET", path)).text, marker, path)
      }
      const pages = [link, textLink, keptLink].map((answer) => bodyOf<{ viewer_url: string }>(answer).viewer_url)
      const statuses = yield* Effect.forEach(pages, (url) => request("GET", `${new URL(url).pathname}/download`))
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        [404, 404, 200]
      )
      for (const id of [live, gone]) {
        assertProblem(
          yield* wire("POST", "/v1/notes/restore", { key, body: `{"id":"${id}","version":1}` }),
          404,
          "version_not_found"
        )
      }
      for (const one of [change!, removed.change!]) {
        assertProblem(yield* wire("POST", "/v1/_undo", { key, body: `{"change":${one}}` }), 404, "version_not_found")
      }
      const repeat = yield* wire("POST", "/v1/notes", { key, body: row(1), headers: { "idempotency-key": "k" } })
      assert.match(assertProblem(repeat, 400, "idempotency_key_reused").detail ?? "", /was carried out/)
      const entries = bodyOf<{ changes: ReadonlyArray<object> }>(
        yield* send(key, "GET", `/v1/_changes?since=${change! - 1}`)
      )
      assert.deepStrictEqual(
        entries.changes.map((one) => ({ ...one, at: "", changed_by: {} })),
        [live, gone].map((row_id) => ({ change, at: "", table: "notes", operation: "delete", row_id, changed_by: {} }))
      )
      // What has nothing to do with them is as it was.
      yield* send(key, "POST", "/v1/_undo", JSON.stringify({ change: Number(update.headers.get("x-change")) }))
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("of a whole table archive its rows or, for good, take its name from the list of tables", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const rows = Array.from({ length: 100 }, (_, n) => ({ action: "add", row: { n } }))
      for (let times = 0; times < 6; times++) {
        yield* send(key, "POST", "/v1/notes/batch", JSON.stringify({ operations: rows }))
      }
      yield* send(key, "POST", "/v1/tasks", '{"n":1}')
      const soft = yield* deleted(key, "/v1/notes?all=true", {})
      assert.deepInclude(soft, { deleted: 600, has_more: true })
      assert.lengthOf(soft.ids!, 500)
      assert.closeTo(Date.parse(soft.restorable_until!), Date.now() + 30 * day, 0.1 * day)
      yield* send(key, "POST", "/v1/_undo", JSON.stringify({ change: soft.change }))
      yield* deleted(key, "/v1/notes", { filter: { n: { lt: 50 } } })
      const forgotten = yield* deleted(key, "/v1/notes", { all: true, forever: true })
      assert.deepInclude(forgotten, { deleted: 300, forgotten: 600, has_more: true, restorable_until: null })
      assert.strictEqual((yield* send(key, "GET", "/v1/_tables")).text, '{"tables":[{"name":"tasks","rows":1}]}')
      assert.deepInclude(yield* deleted(key, "/v1/notes", { all: true, forever: true }), { deleted: 0, forgotten: 0 })
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("say until when rows can be restored, and refuse what is not clear", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      const { id } = bodyOf<Row>(yield* send(key, "POST", "/v1/notes", '{"n":1}'))
      const refused: ReadonlyArray<readonly [string, string, string]> = [
        ["", '{"all":true,"filter":{"n":1}}', "invalid_request"],
        ["?all=true", '{"filter":{"n":1}}', "invalid_request"],
        ["", '{"forever":true}', "invalid_request"],
        ["", '{"forever":"yes","filter":{"n":1}}', "invalid_request"],
        ["?dry_run=perhaps", '{"forever":true,"filter":{"n":1}}', "invalid_request"],
        ["", '{"forever":true,"filter":{}}', "filter_required"]
      ]
      for (const [query, body, code] of refused) {
        assertProblem(yield* wire("DELETE", `/v1/notes${query}`, { key, body }), 400, code)
      }
      const operations = '{"operations":[{"action":"delete","filter":{"n":1},"forever":true}]}'
      assertProblem(yield* wire("POST", "/v1/notes/batch", { key, body: operations }), 400, "invalid_request")
      const stale = { filter: { n: 1 }, forever: true, ifUpdatedAt: "2020-01-01T00:00:00.000Z" }
      assertProblem(yield* wire("DELETE", "/v1/notes", { key, body: JSON.stringify(stale) }), 409, "edit_conflict")
      const told = yield* done(token, "delete", { table: "notes", all: true })
      assert.deepInclude(told, { deleted: 1, ids: [id], change: 2 })
      assert.closeTo(Date.parse(told["restorable_until"] as string), Date.now() + 30 * day, 0.1 * day)
      const forgotten = { deleted: 0, forgotten: 1, ids: [id], change: 3 }
      assert.deepStrictEqual(
        yield* done(token, "delete", { table: "notes", filter: { n: 1 }, forever: true }),
        forgotten
      )
    })
  )
})
