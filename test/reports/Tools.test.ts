import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolText, done, newConnection, refused, rpcOf } from "../support/Mcp.ts"
import { callMcp } from "../support/OAuth.ts"
import { serviceLayer } from "../support/TestService.ts"
import { add, find } from "./Calls.ts"

type Rows = ReadonlyArray<Record<string, unknown>>

const query = (token: string, args: object) =>
  Effect.map(done(token, "query", { table: "t", ...args }), ({ rows }) => rows as Rows)

const addAll = (token: string, rows: ReadonlyArray<string>) =>
  callToolText(
    token,
    "batch",
    `{"table":"t","operations":[${rows.map((row) => `{"action":"add","row":${row}}`).join()}]}`
  )

const shadowing =
  '{"hasOwnProperty":1,"toString":null,"toJSON":"x","then":1,"length":-1,"constructor":{"prototype":1},"valueOf":0,"__proto__":{"admin":true}}'

const names = ["order", "limit", "sort", "filter", "select", "count", "a.b", "x y", "-neg", "é", "日本", "", "table"]

const nested = (levels: number) => `{"d":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`

layer(serviceLayer(), { excludeTestServices: true })("Over MCP,", (it) => {
  // https://github.com/kodustech/kodus-ai/pull/1683
  it.effect("C07 unpaired surrogates are stored and found exactly", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const rows = [String.raw`{"t":"\ud83d"}`, String.raw`{"t":"\ude00\ud83d"}`, String.raw`{"\ud83d":1}`]
      yield* addAll(token, [...rows, '{"t":"😀"}', String.raw`{"t":"\ud83d\ude00"}`])
      for (const row of rows) {
        const found = yield* callToolText(token, "query", `{"table":"t","filter":${row}}`)
        assert.include(found, row.slice(1))
        assert.deepStrictEqual(yield* done(token, "count", `{"table":"t","filter":${row}}`), { count: 1 })
      }
      assert.lengthOf(yield* query(token, { filter: { t: "😀" } }), 2)
    })
  )

  // https://github.com/PostgREST/postgrest/issues/1708
  it.effect("C10 numbers are compared and sorted as numbers", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* addAll(
        token,
        ["9", "10", "88", '"9"', "-1", "1.5", "null"].map((n) => `{"n":${n}}`)
      )
      const sorted = (sort: string) => Effect.map(query(token, { sort }), (rows) => rows.map(({ n }) => n))
      assert.deepStrictEqual(yield* sorted("n"), [-1, 1.5, 9, 10, 88, "9", null])
      assert.deepStrictEqual(yield* sorted("-n"), ["9", 88, 10, 9, 1.5, -1, null])
      for (const [filter, n] of [
        ['{"n":9.0}', 9],
        ['{"n":"9"}', "9"]
      ] as const) {
        const { rows } = yield* done(token, "query", `{"table":"t","filter":${filter}}`)
        assert.deepStrictEqual(
          (rows as Rows).map((row) => row["n"]),
          [n]
        )
      }
    })
  )

  // https://github.com/typicode/json-server/issues/411
  it.effect("C13 fields that shadow objects' members come back, and break nothing", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const added = yield* callToolText(token, "add", `{"table":"t","row":${shadowing}}`)
      const id = /"id":"([0-9a-f-]{36})"/.exec(added)![1]!
      for (const [name, args] of [
        ["query", '{"table":"t","sort":"toString","filter":{"then":1}}'],
        ["update_row", `{"table":"t","id":"${id}","patch":${shadowing}}`],
        ["versions", `{"table":"t","id":"${id}"}`],
        ["restore", `{"table":"t","id":"${id}","version":1}`],
        ["upsert", `{"table":"t","key":["hasOwnProperty"],"row":${shadowing}}`]
      ] as const) {
        assert.include(yield* callToolText(token, name, args), shadowing.slice(1), name)
      }
    })
  )

  // https://github.com/parse-community/parse-server/pull/10169
  it.effect("C14 prototype members' names are names like others, or no tools", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const table of ["constructor", "toString"]) {
        yield* done(token, "add", { table, row: {} })
        assert.deepStrictEqual(yield* done(token, "count", { table }), { count: 1 })
      }
      assert.strictEqual((yield* refused(token, "add", { table: "__proto__", row: {} }))["code"], "invalid_request")
      yield* refused(token, "add", '{"table":"t","row":{},"__proto__":{"admin":true}}')
      yield* refused(token, "batch", { table: "t", operations: [{ action: "constructor" }] })
      const body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"__proto__","arguments":{}}}'
      assert.strictEqual(rpcOf<{ error: { code: number } }>(yield* callMcp(token, { body })).error.code, -32_602)
      assert.notProperty({}, "admin")
    })
  )

  // https://github.com/couchbase/couchbase-lite-core/issues/163
  it.effect("C16 P16 nesting is refused beyond a hundred levels, wherever it comes, and later reads work", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const levels of [99, 100]) yield* done(token, "add", `{"table":"t","row":${nested(levels)}}`)
      for (const levels of [101, 1000, 5000, 30_000]) {
        const deep = nested(levels)
        for (const [name, args] of [
          ["add", `{"table":"t","row":${deep}}`],
          ["add", `{"table":"t","row":${JSON.stringify(deep)}}`],
          ["query", `{"table":"t","filter":${deep}}`],
          ["upsert", `{"table":"t","key":["d"],"row":${deep}}`],
          ["update_row", `{"table":"t","id":"x","patch":${deep}}`],
          ["batch", `{"table":"t","operations":[{"action":"add","row":{}},{"action":"add","row":${deep}}]}`]
        ] as const) {
          assert.strictEqual((yield* refused(token, name, args))["code"], "too_deep", `${name} ${levels}`)
        }
      }
      assert.lengthOf(yield* query(token, {}), 2)
    })
  )

  // https://github.com/typicode/json-server/issues/565, https://github.com/modelcontextprotocol/servers/issues/1819
  it.effect("C20 no write is lost beside those over REST", () =>
    Effect.gen(function* () {
      const { apiKey, token } = yield* newConnection()
      const { row } = yield* done(token, "add", { table: "t", row: {} })
      const { id } = row as { id: string }
      const writes = Array.from({ length: 25 }, (_, n) => [
        Effect.asVoid(done(token, "add", { table: "t", row: { n } })),
        Effect.asVoid(done(token, "update_row", { table: "t", id, patch: { [`f${n}`]: n } })),
        Effect.asVoid(add(apiKey, "t", `{"rest":${n}}`))
      ])
      yield* Effect.all(writes.flat(), { concurrency: "unbounded" })
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 51 })
      const [patched] = yield* query(token, { filter: { id } })
      assert.lengthOf(Object.keys(patched!), 3 + 25)
    })
  )

  // https://github.com/mem0ai/mem0/issues/3928
  it.effect("C22 a delete removes what its filter names, and nothing without one", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* newConnection(), yield* newConnection()]
      const rows = ['{"s":"x"}', '{"s":"x"}', '{"s":"y"}', "{}", "{}"]
      for (const { token } of [one, other]) yield* addAll(token, rows)
      for (const args of [{}, { filter: {} }, { fliter: { s: "x" } }, { filter: "{}" }, { filter: null }]) {
        yield* refused(one.token, "delete", { table: "t", ...args })
        yield* refused(one.token, "update_where", { table: "t", patch: { s: 1 }, allowMultiple: true, ...args })
      }
      const deleted = yield* done(one.token, "delete", { table: "t", filter: { s: "x" } })
      assert.strictEqual(deleted["deleted"], 2)
      assert.lengthOf(deleted["ids"] as [], 2)
      assert.deepStrictEqual(yield* done(one.token, "count", { table: "t" }), { count: 3 })
      assert.deepStrictEqual(yield* done(other.token, "count", { table: "t" }), { count: 5 })
    })
  )

  // https://github.com/mem0ai/mem0/issues/4957
  it.effect("C23 all of a thousand rows are changed and deleted, and the answers say so", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 10; n++) yield* addAll(token, Array.from<string>({ length: 100 }).fill('{"g":1}'))
      const filter = { g: 1 }
      const args = { table: "t", filter }
      assert.deepInclude(yield* done(token, "delete", { ...args, dryRun: true }), { matched: 1000, has_more: true })
      const updated = yield* done(token, "update_where", { ...args, patch: { h: 1 }, allowMultiple: true })
      assert.deepInclude(updated, { updated: 1000, has_more: true })
      assert.deepStrictEqual(yield* done(token, "count", { table: "t", filter: { h: 1 } }), { count: 1000 })
      assert.deepInclude(yield* done(token, "delete", args), { deleted: 1000 })
      assert.deepInclude(yield* done(token, "delete", args), { deleted: 0 })
    })
  )

  // https://github.com/supabase/supabase/issues/12539, https://github.com/trailbaseio/trailbase/issues/52
  it.effect("C25 fields named like arguments or operators filter and sort", () =>
    Effect.gen(function* () {
      const { apiKey, token } = yield* newConnection()
      yield* addAll(
        token,
        [2, 1].map((n) => JSON.stringify(Object.fromEntries(names.map((name) => [name, n]))))
      )
      for (const name of names) {
        assert.lengthOf(yield* query(token, { filter: { [name]: 1 } }), 1, name)
        const [first] = yield* query(token, { sort: `-${name}` })
        assert.strictEqual(first![name], 2, name)
      }
      assert.strictEqual((yield* find(apiKey, "t", { sort: "limit" })).status, 200)
      const problem = yield* refused(token, "query", { table: "t", select: "a" })
      assert.match(String(problem["detail"]), /^\/select is not known here/)
    })
  )
})
