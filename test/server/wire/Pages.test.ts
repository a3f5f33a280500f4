import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { newAccount, request, serviceLayer } from "../../support/TestService.ts"
import { find, type Rows } from "./FilterCalls.ts"
import { assertProblem, jsonOf, search, wire } from "./Wire.ts"

interface Page extends Rows {
  readonly next_cursor?: string
}

const numbered = (count: number, more: object = {}) =>
  Array.from({ length: count }, (_, n) => ({ action: "add", row: { n, text: "x".repeat(280), ...more } }))

/** Adds numbered rows of about 300 characters to the table `t`. */
const addRows = Effect.fnUntraced(function* (key: string, count: number) {
  const operations = numbered(count)
  for (let from = 0; from < count; from += 100) {
    const body = JSON.stringify({ operations: operations.slice(from, from + 100) })
    assert.strictEqual((yield* wire("POST", "/v1/t/batch", { key, body })).status, 200)
  }
})

const numbers = ({ rows }: Rows) => rows.map(({ n }) => n)
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)
const many = { LIMIT_WRITES_PER_MINUTE: "1000", LIMIT_READS_PER_MINUTE: "1000" }

layer(serviceLayer(many), { excludeTestServices: true })("A page of a query", (it) => {
  it.effect("leads to the next with next_cursor until there are no more rows, with any limit and fields", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      yield* addRows(apiKey, 25)
      for (const [sort, order] of [
        ["n", upTo(25)],
        ["-n", upTo(25).toReversed()],
        ["-created_at", upTo(25).toReversed()]
      ] as const) {
        const found: Array<unknown> = []
        let page: Page = yield* find(apiKey, { sort, limit: "10" })
        found.push(...numbers(page))
        assert.isTrue(page.has_more)
        page = yield* find(apiKey, { sort, limit: "7", fields: "n", cursor: page.next_cursor! })
        assert.deepStrictEqual(Object.keys(page.rows[0]!), ["id", "n"])
        found.push(...numbers(page))
        page = yield* find(apiKey, { sort, cursor: page.next_cursor! })
        found.push(...numbers(page))
        assert.deepStrictEqual(found, [...order], sort)
        assert.isFalse(page.has_more)
        assert.notProperty(page, "next_cursor")
      }
    })
  )

  it.effect("is refused as invalid_cursor with another table, filter or sort, and where the cursor is none", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addRows(key, 3)
      const filter = `{"text":"${"x".repeat(280)}"}`
      const { next_cursor: cursor = "" } = (yield* find(key, { limit: "1", sort: "n", filter })) as Page
      const others: ReadonlyArray<readonly [string, Record<string, string>]> = [
        ["/v1/u", { sort: "n", filter, cursor }],
        ["/v1/t", { sort: "-n", filter, cursor }],
        ["/v1/t", { filter, cursor }],
        ["/v1/t", { sort: "n", cursor }]
      ]
      for (const [path, query] of others) {
        const answer = yield* wire("GET", path + search(query), { key })
        assertProblem(answer, 400, "invalid_cursor")
        assert.match(jsonOf<{ detail: string }>(answer).detail, /of another query: table, filter, search and sort/)
      }
      for (const none of ["", "x", `${cursor}!`, cursor.slice(0, -1)]) {
        assertProblem(
          yield* wire("GET", `/v1/t${search({ sort: "n", filter, cursor: none })}`, { key }),
          400,
          "invalid_cursor"
        )
      }
      assert.deepStrictEqual(numbers(yield* find(key, { sort: "n", filter, cursor })), [1, 2])
    })
  )

  it.effect("has the bytes of the fields that it names, and is refused for more than 50, over REST and MCP", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      const body = String.raw`{"a,b":1.10,"t":"\u0000\ud800","n":1e400,"o":{"x":[12345678901234567890]}}`
      const added = jsonOf<{ id: string }>(yield* wire("POST", "/v1/t", { key, body }))
      const text = (fields: string) =>
        Effect.map(wire("GET", `/v1/t${search({ fields })}`, { key }), (answer) => answer.text)
      const rest = (own: string) => `{"rows":[{"id":"${added.id}"${own}],"has_more":false}`
      assert.strictEqual(yield* text("o,n"), rest(',"n":1e400,"o":{"x":[12345678901234567890]}}'))
      assert.strictEqual(yield* text('["a,b","t"]'), rest(String.raw`,"a,b":1.10,"t":"\u0000\ud800"}`))
      assert.strictEqual(yield* text("*"), rest(`,${body.slice(1)}`))
      const told = yield* callTool(token, "query", { table: "t", fields: ["a,b", "t", "n", "none"] })
      const chosen = String.raw`,"a,b":1.10,"t":"\u0000\ud800","n":1e400}`
      assert.isTrue(told.content[0]!.text.startsWith(rest(chosen).slice(0, -1)), told.content[0]!.text)
      const tooMany = upTo(51).join()
      for (const fields of ["", "[]", "[1]", tooMany]) {
        assertProblem(yield* wire("GET", `/v1/t${search({ fields })}`, { key }), 400, "invalid_request")
      }
      const { detail } = yield* refused(token, "query", { table: "t", fields: tooMany.split(",") })
      assert.include(detail, "must name at most 50 fields")
    })
  )

  it.effect("leads an agent through 501 rows with the tool query alone, in plain words", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const operations = numbered(501)
      for (let from = 0; from < 501; from += 100) {
        yield* done(token, "batch", { table: "t", operations: operations.slice(from, from + 100) })
      }
      for (const sort of ["n", "created_at", "-text"]) {
        const found: Array<unknown> = []
        let args: object = { table: "t", sort, limit: 1000 }
        for (let calls = 1; ; calls++) {
          const result = yield* callTool(token, "query", args)
          const page = JSON.parse(result.content[0]!.text) as Page & {
            readonly matched: number
            readonly note?: string
          }
          assert.deepStrictEqual(page, result.structuredContent as never)
          found.push(...numbers(page))
          assert.strictEqual(page.matched, 501)
          if (page.next_cursor === undefined) break
          const words = `${page.rows.length} ${calls === 1 ? "" : "more "}of 501 rows; for more, call query again with cursor set to next_cursor; with fields, more rows fit.`
          assert.strictEqual(page.note, words)
          args = { ...args, cursor: page.next_cursor }
        }
        assert.deepStrictEqual(found, upTo(501), sort)
      }
      const chosen = yield* done(token, "query", { table: "t", fields: "n, text", limit: 1 })
      assert.deepStrictEqual(Object.keys((chosen as unknown as Rows).rows[0]!), ["id", "n", "text"])
      const own = yield* done(token, "query", { table: "t", fields: ["*"], limit: 1 })
      assert.deepStrictEqual(Object.keys((own as unknown as Rows).rows[0]!), ["id", "n", "text"])
      const { code } = yield* refused(token, "query", { table: "t", cursor: "x" })
      assert.strictEqual(code, "invalid_cursor")
    })
  )

  it.effect("of a link leads to the next on its page, in its data and in its download, with the link's fields", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addRows(key, 5)
      const body = JSON.stringify({ table: "t", sort: "-n", limit: 3, fields: ["n"] })
      const link = jsonOf<{ viewer_url: string; download_url: string }>(
        yield* wire("POST", "/v1/_query_links", { key, body })
      )
      const [view, download] = [new URL(link.viewer_url).pathname, new URL(link.download_url).pathname]
      const first = JSON.parse((yield* request("GET", download)).text) as Page
      assert.deepStrictEqual(
        [numbers(first), Object.keys(first.rows[0]!)],
        [
          [4, 3, 2],
          ["id", "n"]
        ]
      )
      const page = yield* request("GET", view)
      const next = /href="([^"]*)" rel="next">Next rows</.exec(page.text)?.[1] ?? ""
      assert.strictEqual(next, `${view}?cursor=${first.next_cursor}`)
      assert.match((yield* request("GET", next)).text, /2 of 5 rows</)
      for (const path of [`${download}?cursor=${first.next_cursor}`, `${view}/download?cursor=${first.next_cursor}`]) {
        const more = JSON.parse((yield* request("GET", path)).text) as Page
        assert.deepStrictEqual([numbers(more), more.has_more], [[1, 0], false])
      }
      for (const path of [`${download}?cursor=x`, `${view}?cursor=x`, `${view}/download?cursor=x`]) {
        assert.strictEqual((yield* request("GET", path)).status, 400, path)
      }
    })
  )
})
