import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolText, done, newConnection, refused } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"

interface Stored {
  readonly id: string
  readonly updated_at: string
  readonly n?: number
}

const started = Effect.gen(function* () {
  const { token } = yield* newConnection()
  const table = "t"
  const call = (tool: string, args: object) => done(token, tool, { table, ...args })
  const fail = (tool: string, args: object) => refused(token, tool, { table, ...args })
  const add = (row: object) => Effect.map(call("add", { row }), ({ row }) => row as Stored)
  return { token, call, fail, add }
})

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "1000" }), { excludeTestServices: true })("Edits over MCP", (it) => {
  it.effect("P40 of 40 parallel increments all count", () =>
    Effect.gen(function* () {
      const { add, call } = yield* started
      const { id } = yield* add({ n: 0 })
      const one = call("update_row", { id, edits: [{ op: "increment", field: "n", by: 1 }] })
      const rows = yield* Effect.all(
        Array.from({ length: 40 }, () => one),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(new Set(rows.map(({ row }) => (row as Stored).n)).size, 40)
      assert.strictEqual(((yield* call("query", {}))["rows"] as ReadonlyArray<Stored>)[0]?.n, 40)
    })
  )

  it.effect("take every value exactly as it is, texts that look like JSON too", () =>
    Effect.gen(function* () {
      const { add, token } = yield* started
      const { id } = yield* add({ text: "a", list: [] })
      const edits = [
        String.raw`{"op":"append","field":"text","text":"{\"b\":1}"}`,
        String.raw`{"op":"replace","field":"text","old":"{\"b\"","new":"[2"}`,
        '{"op":"increment","field":"n","by":0.1234567890123456789}',
        String.raw`{"op":"push","field":"list","value":"{\"c\":1}"}`,
        '{"op":"push","field":"list","value":{"c":1.10}}',
        '{"op":"push","field":"list","value":null}'
      ]
      const answer = yield* callToolText(token, "update_row", `{"table":"t","id":"${id}","edits":[${edits.join()}]}`)
      const own = String.raw`"text":"a[2:1}","list":["{\"c\":1}",{"c":1.10},null],"n":0.1234567890123456789`
      assert.include(answer, own)
    })
  )

  it.effect(
    "may have null in the members that their op does not take, and are refused what it lacks or has too much",
    () =>
      Effect.gen(function* () {
        const { add, call, fail } = yield* started
        const { id } = yield* add({ n: 1 })
        const filled = { op: "increment", field: "n", by: 1, old: null, new: null, text: null, value: null }
        const { row } = yield* call("update_row", { id, patch: null, ifUpdatedAt: null, edits: [filled] })
        assert.strictEqual((row as Stored).n, 2)
        const problem = yield* fail("batch", {
          operations: [{ action: "update_row", id, edits: [filled, { op: "push", field: "n", text: "x" }] }]
        })
        assert.deepStrictEqual(
          (problem["errors"] as ReadonlyArray<{ path: string; message: string }>).map(({ message, path }) => [
            path,
            message
          ]),
          [
            ["/operations/0/edits/1/value", "is required for push"],
            ["/operations/0/edits/1/text", "is not known for push"]
          ]
        )
      })
  )

  it.effect("P40 are guarded, alone and in a batch: one who read an old row gets the row as it is", () =>
    Effect.gen(function* () {
      const { add, call, fail } = yield* started
      const { id, updated_at: ifUpdatedAt } = yield* add({ k: 1, n: 1 })
      const edits = [{ op: "increment", field: "n", by: 1 }]
      const { row } = yield* call("update_row", { id, ifUpdatedAt, edits })
      const filter = { id }
      const calls: ReadonlyArray<readonly [string, object]> = [
        ["update_row", { id, ifUpdatedAt, edits }],
        ["update_where", { filter, ifUpdatedAt, edits }],
        ["update_where", { filter, ifUpdatedAt, edits, dryRun: true }],
        ["upsert", { key: ["k"], row: { k: 1 }, ifUpdatedAt }],
        ["upsert", { key: ["k"], row: { k: 1 }, ifUpdatedAt: null }],
        ["delete", { filter, ifUpdatedAt }],
        ["restore", { id, version: 1, ifUpdatedAt }],
        ["batch", { operations: [{ action: "upsert", key: ["k"], row: { k: 1 }, ifUpdatedAt: null }] }]
      ]
      for (const [tool, args] of calls) {
        const problem = yield* fail(tool, args)
        assert.strictEqual(problem["code"], "edit_conflict", tool)
        assert.deepStrictEqual(problem["current"], row, tool)
      }
      const operations = [{ action: "delete", filter, ifUpdatedAt: null }]
      assert.include(JSON.stringify(yield* call("batch", { operations })), '"deleted":1')
    })
  )

  it.effect("are what a note names where a patch has another database's operators", () =>
    Effect.gen(function* () {
      const { add, call } = yield* started
      const { id } = yield* add({ n: 1 })
      const noted = yield* call("update_row", { id, patch: { n: { $inc: 1 } } })
      assert.include(noted["note"] as string, "send edits")
    })
  )
})
