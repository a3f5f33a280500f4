import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { request, serviceLayer } from "../../support/TestService.ts"

interface Row {
  readonly id: string
  readonly n: number
}

interface Rows {
  readonly rows: ReadonlyArray<Row>
  readonly has_more: boolean
  readonly next_cursor?: string
  readonly note?: string
  readonly _service_query_link?: {
    readonly viewer_url: string
    readonly download_url: string
    readonly rows: number
  }
}

/** Fields of a number of characters, none of which is long enough for a page of its own. */
const wide = (length: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: length / 500 }, (_, n) => [`f${n}`, "x".repeat(500)]))

/** Adds rows that are numbered from 0, and of one group. */
const addRows = Effect.fnUntraced(function* (token: string, count: number, fields: object = {}, table = "t") {
  for (let start = 0; start < count; start += 100) {
    const operations = Array.from({ length: Math.min(100, count - start) }, (_, n) => ({
      action: "add",
      row: { n: start + n, g: 1, ...fields }
    }))
    yield* done(token, "batch", { table, operations })
  }
})

const query = (token: string, args: object = {}) =>
  Effect.map(done(token, "query", { table: "t", ...args }), (answer) => answer as unknown as Rows)

const numbersOf = (rows: ReadonlyArray<Row>) => rows.map(({ n }) => n)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

layer(serviceLayer(), { excludeTestServices: true })("Long answers", (it) => {
  it.effect("42 of query hold whole rows within the budget, and a link to all of them", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 30, wide(2000))
      const answer = yield* query(token)
      assert.isTrue(answer.has_more)
      assert.isAbove(answer.rows.length, 5)
      assert.isAtMost(JSON.stringify(answer.rows).length, 20_100)
      assert.deepStrictEqual(numbersOf(answer.rows), upTo(answer.rows.length))
      const { download_url, rows, viewer_url } = answer._service_query_link!
      assert.strictEqual(rows, 30)
      assert.strictEqual((yield* request("GET", new URL(viewer_url).pathname)).status, 200)
      const whole = yield* request("GET", new URL(download_url).pathname)
      const all = JSON.parse(whole.text) as Rows
      assert.deepStrictEqual([numbersOf(all.rows), all.has_more], [upTo(30), false])
      const next = yield* query(token, { cursor: answer.next_cursor })
      assert.isTrue(next.has_more)
      assert.isUndefined(next._service_query_link)
      const asked = yield* query(token, { limit: 7, includeLink: true })
      assert.strictEqual(asked._service_query_link?.rows, 7)
      const few = yield* query(token, { limit: 3 })
      assert.deepStrictEqual([few.rows.length, few.has_more, few._service_query_link], [3, true, undefined])
    })
  )

  it.effect("42 count what their characters are to a model, in queries, versions and answers of writes", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value))
      const assertBounded = (texts: unknown) => {
        assert.isAtMost(bytesOf(texts), 20_100)
        assert.isAtLeast(bytesOf(texts), 14_000)
      }
      // Of three and of four bytes: rare ideographs, which are one or two tokens each.
      for (const [table, character] of Object.entries({ three: "\u9f98", four: "\u{2a6d6}" })) {
        yield* addRows(token, 30, { s: character.repeat(600) }, table)
        const { has_more, rows } = yield* query(token, { table })
        assert.isTrue(has_more)
        assertBounded(rows)
        const { id } = rows[0]!
        for (let n = 1; n < 10; n++) {
          yield* done(token, "update_row", { table, id, patch: { s: character.repeat(1200 + n) } })
        }
        const kept = yield* done(token, "versions", { table, id })
        assert.isTrue(kept["has_more"])
        assertBounded(kept["versions"])
        const patch = { table, filter: { g: 1 }, patch: { h: 1 }, allowMultiple: true }
        assertBounded((yield* done(token, "update_where", patch))["rows"])
      }
    })
  )

  it.effect("42 of query have one row at least, however long, as far as there is room for it", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 2, wide(64_000))
      const answer = yield* query(token)
      assert.deepStrictEqual([numbersOf(answer.rows), answer.has_more], [[0], true])
      assert.isDefined(answer._service_query_link)
      const one = yield* query(token, { filter: { n: 1 } })
      assert.deepStrictEqual([numbersOf(one.rows), one.has_more, one.rows.length], [[1], false, 1])
      for (const { note, rows } of [answer, one]) {
        assert.isAtMost(JSON.stringify(rows).length, 20_000)
        assert.match(String(note), /is too long: "f\d+", .* and \d+ others left out\. Name a field in fields/)
      }
      const rest = yield* query(token, { filter: { n: 1 }, fields: ["f120", "f127"] })
      assert.deepInclude(rest.rows[0] as object, { f120: "x".repeat(500), f127: "x".repeat(500) })
      assert.notProperty(rest, "note")
    })
  )

  it.effect(
    "42 of query cut a text between its characters, say how long it is, and give it whole where it is named",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        // Of several code points each, and of an escape in JSON.
        for (const [table, character] of Object.entries({ family: "👨‍👩‍👧‍👦", accent: "e\u0301", line: "\n" })) {
          const text = character.repeat(Math.floor(25_000 / Buffer.byteLength(JSON.stringify(character).slice(1, -1))))
          yield* done(token, "add", { table, row: { n: 1, text, g: "kept" } })
          const { _service_query_link: link, note, rows } = yield* query(token, { table })
          const row = rows[0] as unknown as { text: string; g: string }
          const [, shown, told] = /^([^]*)… \[cut: [\d,]+ of ([\d,]+) characters\]$/.exec(row.text)!
          assert.strictEqual(Number(told!.replaceAll(",", "")), text.length)
          assert.isAbove(shown!.length, text.length / 2)
          assert.strictEqual(shown, character.repeat(shown!.length / character.length))
          assert.strictEqual(row.g, "kept")
          assert.match(String(note), /"text" cut\. Name a field in fields/)
          assert.isDefined(link)
          const whole = yield* query(token, { table, fields: ["text"] })
          assert.deepInclude(whole.rows[0] as object, { text })
        }
        yield* done(token, "add", { table: "most", row: { text: "x".repeat(65_000) } })
        const most = yield* query(token, { table: "most", fields: ["text"] })
        assert.isAtMost(JSON.stringify(most.rows).length, 60_000)
        assert.match(String(most.note), /"text" cut/)
      })
  )

  it.effect("42 of versions cut the first one's long text and say so, and restore brings it back whole", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const text = "é".repeat(29_000)
      yield* done(token, "add", { table: "t", row: { g: "kept", text } })
      const { id } = (yield* query(token, { table: "t", fields: ["g"] })).rows[0]!
      yield* done(token, "update_row", { table: "t", id, patch: { text: "" } })
      const archived = yield* done(token, "versions", { table: "t", id })
      yield* done(token, "delete", { table: "t", filter: { id } })
      yield* done(token, "restore", { table: "t", id, version: 1 })
      yield* done(token, "delete", { table: "t", filter: { id } })
      const deleted = yield* done(token, "versions", { table: "t", deleted: true })
      for (const [version, found] of [
        [1, archived],
        [3, deleted]
      ] as const) {
        const first = (found["versions"] as ReadonlyArray<{ version: number; row: { g: string; text: string } }>)[0]!
        assert.strictEqual(first.version, version)
        assert.strictEqual(first.row.g, "kept")
        assert.match(first.row.text, /^é+… \[cut: [\d,]+ of 29,000 characters\]$/)
        assert.isBelow(Buffer.byteLength(JSON.stringify(found)), 22_000)
        assert.match(
          String(found["note"]),
          new RegExp(`^Version ${version}: The row .* is too long: "text" cut\\. restore brings it back whole\\.$`)
        )
      }
      yield* done(token, "restore", { table: "t", id, version: 3 })
      const { rows } = yield* query(token, { table: "t", fields: ["text"] })
      assert.deepInclude(rows[0] as object, { text })
    })
  )

  it.effect("42 of query have a link for a text of more than 4,000 characters, and when they are asked for it", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const hasLink = (args: object) =>
        Effect.map(query(token, args), ({ _service_query_link }) => _service_query_link !== undefined)
      yield* addRows(token, 1, { s: "x".repeat(4000) })
      yield* addRows(token, 1, { s: "x".repeat(4001) }, "long")
      yield* addRows(token, 1, { s: "\n".repeat(4000), inner: ["x".repeat(4001)] }, "escaped")
      assert.deepStrictEqual(
        [
          yield* hasLink({}),
          yield* hasLink({ includeLink: true }),
          yield* hasLink({ includeLink: false }),
          yield* hasLink({ table: "long" }),
          yield* hasLink({ table: "escaped" }),
          yield* hasLink({ table: "never_written", includeLink: true })
        ],
        [false, true, false, true, false, true]
      )
    })
  )

  it.effect("42 of query come without the link that nobody asked for where none can be made", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 30, wide(2000))
      const sort = "s".repeat(16_385)
      const answer = yield* query(token, { sort })
      assert.isTrue(answer.has_more)
      assert.isAbove(answer.rows.length, 5)
      assert.isUndefined(answer._service_query_link)
      const problem = yield* refused(token, "query", { table: "t", sort, includeLink: true })
      assert.strictEqual(problem["code"], "invalid_request")
    })
  )

  it.effect("42 of versions hold the newest whole ones", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 1, wide(6000))
      const { id } = (yield* query(token)).rows[0]!
      for (let n = 1; n < 8; n++) yield* done(token, "update_row", { table: "t", id, patch: { n } })
      const answer = yield* done(token, "versions", { table: "t", id })
      const versions = answer["versions"] as ReadonlyArray<{ version: number }>
      assert.isTrue(answer["has_more"])
      assert.deepStrictEqual(
        versions.map(({ version }) => version),
        [7, 6, 5]
      )
    })
  )

  it.effect("42 of update_where have ids in the place of rows that are left out", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 700, { s: "x".repeat(100) })
      const args = { table: "t", filter: { g: 1 }, patch: { done: true }, allowMultiple: true, idempotencyKey: "k" }
      const answer = yield* callTool(token, "update_where", args)
      assert.isAtMost(answer.content[0]!.text.length, 45_000)
      const { has_more, ids, rows, updated } = answer.structuredContent as unknown as Rows & {
        ids: ReadonlyArray<string>
        updated: number
      }
      assert.deepStrictEqual([updated, has_more, ids.length], [700, true, 500])
      assert.deepStrictEqual(numbersOf(rows), upTo(rows.length))
      const all = yield* request(
        "GET",
        new URL((yield* query(token, { limit: 1000 }))._service_query_link!.download_url).pathname
      )
      const expected = (JSON.parse(all.text) as Rows).rows.slice(rows.length, rows.length + 500).map(({ id }) => id)
      assert.deepStrictEqual(ids, expected)
      assert.deepStrictEqual(yield* done(token, "update_where", args), { ...answer.structuredContent, replayed: true })
      const few = yield* done(token, "update_where", { ...args, filter: { n: 1 }, idempotencyKey: "few" })
      assert.deepStrictEqual(Object.keys(few), ["updated", "rows", "change"])
      assert.deepInclude(yield* done(token, "count", { table: "t", filter: { done: true } }), { count: 700 })
    })
  )

  it.effect("42 of batch have ids in the place of rows that are left out", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 100, { s: "x".repeat(300) })
      const { id } = (yield* query(token, { limit: 1 })).rows[0]!
      const operations = [
        ...Array.from({ length: 20 }, () => ({ action: "add", row: wide(2000) })),
        { action: "upsert", key: ["n"], row: { n: 500, ...wide(2000) } },
        { action: "update_row", id, patch: wide(2000) },
        { action: "update_where", filter: { g: 1 }, patch: { h: 1 }, allowMultiple: true },
        { action: "delete", filter: { g: 1 } }
      ]
      for (const dryRun of [true, false]) {
        const answer = yield* callTool(token, "batch", { table: "t", operations, dryRun })
        const body = answer.structuredContent as unknown as {
          readonly has_more: boolean
          readonly results: ReadonlyArray<{ index: number; action: string; result: Record<string, unknown> }>
        }
        assert.isTrue(body.has_more)
        assert.isAtMost(answer.content[0]!.text.length, 32_000)
        assert.deepStrictEqual(
          body.results.map(({ action, index }) => [index, action]),
          operations.map(({ action }, index) => [index, action])
        )
        const results = body.results.map(({ result }) => result)
        assert.hasAllKeys(results[0], ["id", "created_at", "updated_at", ...Object.keys(wide(2000))])
        assert.hasAllKeys(results[19], ["id"])
        assert.hasAllKeys(results[20], ["created", "id"])
        assert.deepStrictEqual(results[21], { id })
        assert.hasAllKeys(results[22], ["updated", "rows", "ids", "has_more"])
        assert.deepStrictEqual(results[23], { deleted: 100 })
      }
    })
  )

  it.effect("of dry runs name 500 rows, and say that there are more only where there are", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const dryRun = Effect.map(done(token, "delete", { table: "t", filter: { g: 1 }, dryRun: true }), (answer) => {
        const { has_more, ids, matched } = answer as { has_more: boolean; ids: ReadonlyArray<string>; matched: number }
        return [matched, ids.length, has_more]
      })
      yield* addRows(token, 500)
      assert.deepStrictEqual(yield* dryRun, [500, 500, false])
      yield* addRows(token, 1)
      assert.deepStrictEqual(yield* dryRun, [501, 500, true])
    })
  )

  it.effect("42 of a batch's dry run hold 500 ids in all, however many of its operations leave rows out", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addRows(token, 400, { s: "x".repeat(100) })
      const operations = [1, 2, 3].map((h) => ({
        action: "update_where",
        filter: { g: 1 },
        patch: { h },
        allowMultiple: true
      }))
      const { results } = (yield* done(token, "batch", { table: "t", dryRun: true, operations })) as {
        results: ReadonlyArray<{ result: { ids: ReadonlyArray<string>; updated: number } }>
      }
      const ids = results.map(({ result }) => result.ids.length)
      assert.strictEqual(
        ids.reduce((sum, count) => sum + count, 0),
        500
      )
      assert.strictEqual(ids[2], 0)
    })
  )

  it.effect("42 of versions say that there are more only where some are left out", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const { row } = yield* done(token, "add", { table: "t", row: { n: 0 } })
      const { id } = row as { id: string }
      for (const n of [1, 2]) yield* done(token, "update_row", { table: "t", id, patch: { n } })
      const { has_more, versions } = yield* done(token, "versions", { table: "t", id })
      assert.lengthOf(versions as ReadonlyArray<unknown>, 2)
      assert.isFalse(has_more)
    })
  )
})

layer(serviceLayer({ LIMIT_LIVE_LINKS: "1" }), { excludeTestServices: true })(
  "An account with as many links as it may",
  (it) => {
    it.effect("42 gets the rows of a long answer, and is refused only the link that it asks for", () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        yield* addRows(token, 30, wide(2000))
        const { _service_query_link, ...first } = yield* query(token)
        assert.isDefined(_service_query_link)
        assert.deepStrictEqual(yield* query(token), first)
        const problem = yield* refused(token, "query", { table: "t", includeLink: true })
        assert.deepInclude(problem, { code: "rate_limited", limit: 1 })
      })
    )
  }
)
