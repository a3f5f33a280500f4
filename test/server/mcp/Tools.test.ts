import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolText, done, newConnection, refused, rpcOf } from "../../support/Mcp.ts"
import { serviceLayer, type Answer } from "../../support/TestService.ts"
import { callInEras, rpc, send, sendModern } from "./Messages.ts"

const toolsIn = (answer: Answer) => rpcOf<{ result: { tools: ReadonlyArray<unknown> } }>(answer).result.tools

layer(serviceLayer(), { excludeTestServices: true })("The tools", (it) => {
  it.effect("39 are listed in both eras", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const legacy = yield* send(token, rpc("tools/list"))
      const modern = yield* sendModern(token, "tools/list")
      assert.deepStrictEqual(toolsIn(modern), toolsIn(legacy))
      assert.lengthOf(toolsIn(modern), 20)
    })
  )

  it.effect("40 keep every value as it is", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const row = '{"b":12345678901234567890,"1":1.10,"__proto__":{"x":1e400},"s":"\\u0000\\ud800","n":-0}'
      const added = yield* callToolText(token, "add", `{"table":"t","row":${row}}`)
      assert.include(added, row.slice(1))
      const found = yield* callToolText(token, "query", '{"table":"t"}')
      assert.include(found, row.slice(1))
      assert.include(found, JSON.stringify(row.slice(1)).slice(1, -1))
      assert.include(yield* callToolText(token, "add", `{"table":"t","row":${JSON.stringify(row)}}`), row.slice(1))
    })
  )

  it.effect("40 take numbers, booleans and nothing that come as strings", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* done(token, "add", { table: "t", rows: [{ n: 1 }, { n: 2 }, { n: 3 }] })
      const nothing = { sort: "null", cursor: "null", fields: ["null"], search: null, filter: "null" }
      for (const found of yield* callInEras(token, "query", {
        table: "t",
        limit: "2",
        includeLink: "false",
        ...nothing
      }))
        assert.deepInclude(found, { has_more: true, matched: 3 })
      const dry = { table: "t", filter: { n: 1 }, dryRun: "True", ifUpdatedAt: "null" }
      for (const told of yield* callInEras(token, "delete", dry))
        assert.deepInclude(told, { dry_run: true, matched: 1 })
      const [{ id } = { id: "" }] = (yield* done(token, "query", { table: "t" }))["rows"] as ReadonlyArray<{
        id: string
      }>
      const edit = { op: "increment", field: "n", by: "1.10" }
      const edited = { table: "t", id, edits: [edit], patch: "null", returnRows: "true" }
      const rows = (yield* callInEras(token, "update_row", edited)).map(({ row }) => (row as { n: number }).n)
      assert.deepStrictEqual(rows, [2.1, 3.2])
      const memory = { title: "a", content: "null", key: "null", tags: ["null"], source: "null" }
      for (const saved of yield* callInEras(token, "remember", memory)) assert.deepInclude(saved, { created: true })
      const kept = (yield* done(token, "query", { table: "memories", limit: 1 }))["rows"] as ReadonlyArray<object>
      assert.deepInclude(kept[0], { content: "null" })
      assert.doesNotHaveAnyKeys(kept[0]!, ["tags", "source"])
    })
  )

  it.effect("41 refuse what can't be meant, and delete nothing for a dryRun that they don't understand", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* done(token, "add", { table: "t", rows: [{ n: 1 }, { n: 2 }] })
      const faults: ReadonlyArray<[tool: string, args: object, detail: RegExp]> = [
        ["delete", { filter: { n: 1 }, dryRun: "yes" }, /^\/dryRun must be true or false/],
        ["delete", { filter: { n: 1 }, dryRun: "" }, /^\/dryRun must be true or false/],
        ["delete", { filter: "null" }, /^\/filter/],
        ["query", { limit: "many" }, /^\/limit must be a number: a whole number from 1 to 1000/],
        ["query", { limit: "1.5" }, /^\/limit must be a whole number/],
        ["upsert", { key: "null", row: { n: 1 } }, /^\/key/]
      ]
      for (const [tool, args, detail] of faults) {
        for (const problem of yield* callInEras(token, tool, { table: "t", ...args })) {
          assert.match(String(problem["detail"]), detail, JSON.stringify(args))
        }
      }
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 2 })
    })
  )

  it.effect("add several rows in one call, all or none, and name them where they are few", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const rows = (count: number) => Array.from({ length: count }, (_, n) => ({ n }))
      for (const added of yield* callInEras(token, "add", { table: "t", rows: rows(20) })) {
        assert.hasAllKeys(added, ["added", "ids", "change"])
        assert.lengthOf(added["ids"] as ReadonlyArray<string>, 20)
      }
      const many = { table: "t", rows: rows(100), idempotencyKey: "many" }
      const [first, again] = yield* callInEras(token, "add", many)
      assert.hasAllKeys(first, ["added", "change"])
      assert.deepStrictEqual(again, { ...first, replayed: true })
      const shown = yield* done(token, "add", { table: "u", rows: [{ n: 1.5 }], returnRows: true })
      assert.deepInclude((shown["rows"] as ReadonlyArray<object>)[0], { n: 1.5 })
      const wide = Array.from({ length: 40 }, (_, n) => ({ n, text: "x".repeat(2000) }))
      const cut = yield* done(token, "add", { table: "u", rows: wide, returnRows: true })
      assert.deepInclude(cut, { added: 40, has_more: true })
      const told = [cut["rows"], cut["ids"]].flatMap((part) => part as ReadonlyArray<unknown>)
      assert.lengthOf(told, 40)
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 140 })
      const faults: ReadonlyArray<[args: object, detail: RegExp]> = [
        [{ rows: [{ a: 1 }, { id: "x" }] }, /^\/rows\/1: id is set by the service/],
        [{ rows: [{ a: 1 }, { a: "x".repeat(70_000) }] }, /^\/rows\/1/],
        [{ rows: rows(101) }, /^\/rows must hold at most 100 rows/],
        [{ rows: [] }, /^\/rows must hold at least one row/],
        [{ rows: rows(1), row: {} }, /^\/rows is not taken with row/],
        [{}, /^\/row is required/]
      ]
      for (const [args, detail] of faults) {
        assert.match(String((yield* refused(token, "add", { table: "t", ...args }))["detail"]), detail)
      }
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 140 })
    })
  )
})
