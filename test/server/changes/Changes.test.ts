import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import type { ChangePlace } from "../../../src/domain/Change.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Changes, type ChangePage } from "../../../src/server/versions/Changes.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { setClock } from "../../support/Database.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { retentionLayer, sweep } from "../retention/Sweeping.ts"

interface Entry {
  readonly change: number
  readonly at: string
  readonly table: string
  readonly operation: string
  readonly row_id: string
  readonly changed_by: { readonly kind: string; readonly id: string; readonly name: string }
  readonly version?: number
}

interface Page {
  readonly changes: ReadonlyArray<Entry>
  readonly has_more: boolean
  readonly next_cursor?: string
}

const json = JsonText.trusted

const send = Effect.fnUntraced(function* (key: string, method: string, path: string, body?: object) {
  const answer = yield* request(method, path, { key, ...(body && { body: JSON.stringify(body) }) })
  assert.isBelow(answer.status, 300, answer.text)
  return answer
})

const page = Effect.fnUntraced(function* (key: string, query: string) {
  return bodyOf<Page>(yield* request("GET", `/v1/_changes${query}`, { key }))
})

const changeOf = ({ headers }: { readonly headers: Headers }) => Number(headers.get("x-change"))

/** All pages, one after another. */
const follow = Effect.fnUntraced(function* (key: string, query: string) {
  const found: Array<Entry> = []
  let cursor = ""
  while (true) {
    const { changes, has_more, next_cursor } = yield* page(key, query + cursor)
    found.push(...changes)
    assert.strictEqual(has_more, next_cursor !== undefined)
    if (!has_more) return found
    cursor = `&cursor=${next_cursor}`
  }
})

const told = ({ change, operation, row_id, version }: Entry) => [change, operation, row_id, version]

const unlimited = { LIMIT_WRITES_PER_MINUTE: "10000", LIMIT_READS_PER_MINUTE: "10000" }

layer(serviceLayer(unlimited), { excludeTestServices: true })("Changes", (it) => {
  it.effect("tell what each write did to each row, newest first, with the version of the row before it", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const added = yield* send(key, "POST", "/v1/notes", { n: 1 })
      const { id } = bodyOf<{ id: string }>(added)
      const patched = yield* send(key, "POST", "/v1/notes/update_row", { id, patch: { n: 2 } })
      const removed = yield* send(key, "DELETE", "/v1/notes", { filter: { id } })
      const restored = yield* send(key, "POST", "/v1/notes/restore", { id, version: 1 })
      const numbers = [added, patched, removed, restored].map(changeOf)
      assert.deepStrictEqual(numbers, [1, 2, 3, 4])
      const { changes, has_more } = yield* page(key, "")
      assert.isFalse(has_more)
      assert.deepStrictEqual(changes.map(told), [
        [4, "restore", id, undefined],
        [3, "delete", id, 2],
        [2, "update", id, 1],
        [1, "add", id, undefined]
      ])
      for (const { at, changed_by, table } of changes) {
        assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.deepStrictEqual([table, changed_by.kind, changed_by.name], ["notes", "key", "test"])
      }
    })
  )

  it.effect("have one number for all rows of a write, and one entry for each row", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const operations = [
        { action: "add", row: { n: 1 } },
        { action: "add", row: { n: 2 } },
        { action: "update_where", filter: { n: 1 }, patch: { m: 1 } },
        { action: "add", row: { n: 3 } },
        { action: "delete", filter: { n: 3 } }
      ]
      const batch = yield* send(key, "POST", "/v1/notes/batch", { operations })
      const update = { filter: { m: 1 }, patch: { m: 2 } }
      const updated = yield* send(key, "POST", "/v1/notes/update_where", update)
      assert.isAbove(changeOf(updated), changeOf(batch))
      const all = yield* follow(key, "?since=0&limit=1")
      assert.deepStrictEqual(
        all.map(({ change, operation, version }) => [change, operation, version]),
        [
          [changeOf(batch), "add", undefined],
          [changeOf(batch), "add", undefined],
          [changeOf(batch), "delete", undefined],
          [changeOf(updated), "update", 2]
        ]
      )
      assert.lengthOf(new Set(all.slice(0, 3).map(({ row_id }) => row_id)), 3)
      const reversed = yield* follow(key, "?limit=2")
      assert.deepStrictEqual(reversed.toReversed(), all)
    })
  )

  it.effect("are told by a header of every write that changed something, of a repeated one too, and of no other", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const post = (body: string, headers = {}) => request("POST", "/v1/notes", { key, body, headers })
      const keyed = { "idempotency-key": "one" }
      const first = yield* post("{}", keyed)
      assert.strictEqual(first.headers.get("x-change"), "1")
      const again = yield* post("{}", keyed)
      assert.deepStrictEqual([again.headers.get("x-change"), again.headers.get("idempotent-replayed")], ["1", "true"])
      assert.strictEqual(changeOf(yield* post("{}")), 2)
      const nothing = yield* send(key, "DELETE", "/v1/notes", { filter: { n: 9 } })
      assert.isNull(nothing.headers.get("x-change"))
      const refused = yield* post('{"id":"x"}')
      assert.isNull(refused.headers.get("x-change"))
      const { id } = bodyOf<{ id: string }>(first)
      const row = { id, created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z", n: 1 }
      const other = yield* newAccount
      const dry = yield* send(other.apiKey, "POST", "/v1/_import?dry_run=true", { tables: { notes: [row] } })
      assert.isNull(dry.headers.get("x-change"))
      const imported = yield* send(other.apiKey, "POST", "/v1/_import", { tables: { notes: [row] } })
      const { changes } = yield* page(other.apiKey, "")
      assert.deepStrictEqual(changes.map(told), [[changeOf(imported), "import", id, undefined]])
    })
  )

  it.effect("are narrowed to a table and to whoever made them", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const made = yield* send(key, "POST", "/v1/_keys", { name: 'second "key"' })
      const { api_key: second, id } = bodyOf<{ id: string; api_key: string }>(made)
      yield* send(key, "POST", "/v1/notes", {})
      yield* send(second, "POST", "/v1/notes", {})
      yield* send(second, "POST", "/v1/tasks", {})
      const numbers = Effect.fnUntraced(function* (query: string) {
        return (yield* page(key, query)).changes.map(({ change }) => change)
      })
      assert.deepStrictEqual(yield* numbers("?table=notes"), [2, 1])
      assert.deepStrictEqual(yield* numbers(`?by=${id}`), [3, 2])
      assert.deepStrictEqual(yield* numbers(`?by=${id}&table=tasks&since=0`), [3])
      assert.deepStrictEqual(yield* numbers("?by=unknown"), [])
      assert.deepStrictEqual(yield* numbers("?by=a%00"), [])
      for (const wrong of ["?since=x", "?since=-1", "?limit=0", "?cursor=x", "?table=_x", "?sinc=1"]) {
        assert.strictEqual((yield* request("GET", `/v1/_changes${wrong}`, { key })).status, 400, wrong)
      }
      const { next_cursor } = yield* page(key, "?limit=1")
      const mixed = yield* request("GET", `/v1/_changes?since=1&cursor=${next_cursor}`, { key })
      assert.include(mixed.text, "without since")
    })
  )

  it.effect("say that rows of before have no author, and begin with what came after", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, apiKey: key } = yield* newAccount
      const { id } = bodyOf<{ id: string }>(yield* send(key, "POST", "/v1/notes", { n: 1 }))
      yield* sql`UPDATE rows SET change = NULL, changed_by = NULL WHERE account_id = ${accountId}`
      yield* sql`DELETE FROM changes WHERE account_id = ${accountId}`
      const history = Effect.map(send(key, "GET", `/v1/notes/versions?id=${id}`), (answer) =>
        bodyOf<{ versions: ReadonlyArray<{ change: number }>; current: Record<string, unknown> }>(answer)
      )
      const before = yield* history
      assert.deepInclude(before.current, { change: null, changed_by: null })
      const patched = yield* send(key, "POST", "/v1/notes/update_row", { id, patch: { n: 2 } })
      const { current, versions } = yield* history
      assert.deepStrictEqual(
        versions.map(({ change }) => change),
        [changeOf(patched)]
      )
      assert.strictEqual(current["change"], changeOf(patched))
      assert.deepInclude(current["changed_by"], { kind: "key", name: "test" })
      assert.deepStrictEqual((yield* follow(key, "?since=0")).map(told), [[changeOf(patched), "update", id, 1]])
    })
  )

  it.effect("have no author of before after a write of an instance of the earlier version", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId, apiKey: key } = yield* newAccount
      const { id } = bodyOf<{ id: string }>(yield* send(key, "POST", "/v1/notes", { n: 1 }))
      yield* sql`UPDATE rows SET data = '{"n":2}' WHERE account_id = ${accountId}`
      const { text } = yield* send(key, "GET", `/v1/notes/versions?id=${id}`)
      assert.include(text, '"change":null,"changed_by":null')
    })
  )
})

layer(retentionLayer({ LIMIT_CHANGES: "20" }), { excludeTestServices: true })("The log of changes", (it) => {
  const numbersOf = Effect.fnUntraced(function* (accountId: string) {
    const sql = yield* SqlClient.SqlClient
    const found = yield* sql<{ change: number }>`
      SELECT change::float8 AS change FROM changes WHERE account_id = ${accountId} ORDER BY change, place
    `
    return found.map(({ change }) => change)
  })

  it.effect("P41 is read to its end, over two instances that write at once, without a miss or a repeat", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const variables = { LIMIT_CHANGES: "100000" }
      const instances = [yield* anotherInstance(variables), yield* anotherInstance(variables)]
      const made: Array<number> = []
      const writer = Effect.fnUntraced(function* (index: number) {
        const { rowWrites } = instances[index % 2]!
        for (let n = 0; n < 25; n++) {
          const operations = Array.from({ length: 1 + (n % 3) }, () => ({ action: "add", row: json("{}") }) as const)
          const { change } = yield* rowWrites.batch(...(yield* callerNow(accountId, `t${index}`)), operations)
          for (const _ of operations) made.push(change!)
        }
      })
      const writers = yield* Effect.forkScoped(
        Effect.forEach([0, 1, 2, 3], writer, { concurrency: "unbounded", discard: true })
      )
      const seen: Array<number> = []
      let since = 0
      let reads = 0
      const read = Effect.gen(function* () {
        const { changes } = instances[reads++ % 2]!
        let after: ChangePlace | undefined
        do {
          const [actor] = yield* callerNow(accountId, "t0")
          const found: ChangePage = yield* changes.read(actor, { since, limit: 4, after })
          seen.push(...found.changes.map(({ change }) => change))
          after = found.next
        } while (after !== undefined)
        since = seen.at(-1) ?? 0
      })
      while (writers.pollUnsafe() === undefined) yield* read
      yield* Fiber.join(writers)
      yield* read
      assert.isAbove(reads, 2)
      assert.deepStrictEqual(
        seen,
        made.toSorted((a, b) => a - b)
      )
    })
  )

  it.effect("is kept as long as versions are, and tells whoever would miss something", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const changes = yield* Changes
      const add = Effect.gen(function* () {
        return yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "add", row: json("{}") })
      })
      const since = Effect.fnUntraced(function* (number: number) {
        const [actor] = yield* callerNow(accountId, "notes")
        return yield* changes.read(actor, { since: number, limit: 10 })
      })
      yield* add
      yield* add
      yield* setClock("20 days")
      yield* add
      assert.strictEqual((yield* sweep).removed.changes, 0)
      yield* setClock("30 days 1 second")
      yield* sweep
      assert.deepStrictEqual(yield* numbersOf(accountId), [3])
      assert.strictEqual((yield* Effect.flip(since(1)))._tag, "ChangesExpired")
      const found = yield* since(2)
      assert.deepStrictEqual(
        found.changes.map(({ change }) => change),
        [3]
      )
      yield* setClock("0 days")
    })
  )

  it.effect("has no more changes than its limit, and loses the oldest writes as a whole", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const operations = Array.from({ length: 7 }, () => ({ action: "add", row: json("{}") }) as const)
      for (let n = 0; n < 6; n++) {
        yield* rowWrites.batch(...(yield* callerNow(accountId, "notes")), operations)
      }
      yield* rowWrites.batch(...(yield* callerNow(accountId, "notes")), operations.slice(0, 1))
      // The next write of an account begins when the log was shortened.
      yield* rowWrites.write(...(yield* callerNow(accountId, "notes")), { action: "delete", filter: json('{"n":0}') })
      const numbers = yield* numbersOf(accountId)
      assert.isAtMost(numbers.length, 20)
      assert.isAtLeast(numbers.length, 8)
      assert.deepStrictEqual(numbers.slice(-8), [...Array.from({ length: 7 }, () => 36), 43])
      for (const number of new Set(numbers.slice(0, -1))) {
        assert.lengthOf(
          numbers.filter((other) => other === number),
          7
        )
      }
      const [account] = yield* sql<{ swept: number }>`
        SELECT swept_change::float8 AS swept FROM accounts WHERE account_id = ${accountId}
      `
      assert.isBelow(account!.swept, numbers[0]!)
      assert.isAtLeast(account!.swept, numbers[0]! - 7)
    })
  )
})
