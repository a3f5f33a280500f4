import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { request, serviceLayer } from "../../support/TestService.ts"
import { narrowed } from "./Listing.ts"

const limited = { LIMIT_WRITES_PER_MINUTE: "4", LIMIT_READS_PER_MINUTE: "6" }

const add = { table: "t", row: { a: 1 } }
const filter = { a: 1 }

layer(serviceLayer(limited), { excludeTestServices: true })("The limits of a connection", (it) => {
  it.effect("44 refuse calls beyond them as results, with the seconds to wait", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 4; n++) yield* done(token, "add", add)
      const problem = yield* refused(token, "add", add)
      assert.deepInclude(problem, { code: "rate_limited", limit: 4 })
      assert.match(String(problem["hint"]), /One batch carries several writes/)
      assert.isAtLeast(problem["retry_after"] as number, 1)
      assert.isAtMost(problem["retry_after"] as number, 15)
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 4 })
      for (let n = 1; n < 6; n++) yield* done(token, "list_tables")
      const read = yield* refused(token, "query", { table: "t" })
      assert.deepInclude(read, { code: "rate_limited", limit: 6 })
      assert.notMatch(String(read["hint"]), /write|batch/)
    })
  )

  it.effect("44 take a dry run and a link for a read, and a batch for one write", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const operations = Array.from({ length: 50 }, () => ({ action: "add", row: { a: 1 } }))
      const added = yield* done(token, "batch", { table: "t", operations })
      const { id } = (added["results"] as ReadonlyArray<{ result: { id: string } }>)[0]!.result
      for (let n = 0; n < 3; n++) yield* done(token, "add", add)
      yield* refused(token, "add", add)
      yield* done(token, "delete", { table: "t", filter, dryRun: true })
      yield* done(token, "update_where", { table: "t", filter, patch: {}, allowMultiple: true, dryRun: true })
      yield* done(token, "batch", { table: "t", operations, dryRun: true })
      yield* done(token, "open_row", { table: "t", id })
      const faulty = yield* refused(token, "open_row", { table: "t" })
      assert.strictEqual(faulty["code"], "invalid_request")
      for (let n = 0; n < 2; n++) yield* done(token, "list_tables")
      const over = yield* refused(token, "delete", { table: "t", filter, dryRun: true })
      assert.deepInclude(over, { code: "rate_limited", limit: 6 })
    })
  )

  it.effect("44 take a call that says it is no dry run for a write", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const operations = [{ action: "add", row: { a: 1 } }]
      const calls = [
        ["batch", { operations }],
        ["update_where", { filter, patch: {} }],
        ["delete", { filter }],
        ["batch", { operations }]
      ] as const
      for (const [name, args] of calls) yield* done(token, name, { table: "t", dryRun: false, ...args })
      const problem = yield* refused(token, "add", add)
      assert.deepInclude(problem, { code: "rate_limited", limit: 4 })
      for (let n = 0; n < 6; n++) yield* done(token, "list_tables")
    })
  )

  it.effect("44 touch neither another connection's nor a key's", () =>
    Effect.gen(function* () {
      const one = yield* newConnection()
      const other = yield* newConnection(undefined, one)
      for (let n = 0; n < 4; n++) yield* done(one.token, "add", add)
      yield* refused(one.token, "add", add)
      yield* done(other.token, "add", add)
      const key = yield* request("POST", "/v1/t", { key: one.apiKey, body: "{}" })
      assert.strictEqual(key.status, 201)
      assert.include(key.headers.get("ratelimit") ?? "", "r=3")
    })
  )

  it.effect("44 are not spent by calls whose arguments are refused, nor by those beyond the limit", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 8; n++) {
        assert.strictEqual((yield* refused(token, "add", {}))["code"], "invalid_request")
        assert.strictEqual((yield* refused(token, "count", { table: 1 }))["code"], "invalid_request")
      }
      for (let n = 0; n < 4; n++) yield* done(token, "add", add)
      const first = yield* refused(token, "add", add)
      for (let n = 0; n < 5; n++) yield* callTool(token, "add", add)
      const last = yield* refused(token, "add", add)
      assert.strictEqual(last["code"], "rate_limited")
      assert.isAtMost(last["retry_after"] as number, first["retry_after"] as number)
    })
  )

  it.effect("43 are not spent by the writes that a connection may not make at all", () =>
    Effect.gen(function* () {
      const { token } = yield* narrowed("read")
      for (let n = 0; n < 8; n++) assert.strictEqual((yield* refused(token, "add", add))["code"], "read_only")
      for (let n = 0; n < 6; n++) yield* done(token, "list_tables")
      assert.strictEqual((yield* refused(token, "list_tables"))["code"], "rate_limited")
    })
  )
})
