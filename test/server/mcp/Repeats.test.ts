import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { request, serviceLayer } from "../../support/TestService.ts"
import { dump } from "./Dump.ts"

const memory = { title: "A title", content: "Some text" }

/** Every tool that writes: its arguments, and those of another request. */
const writesOn = (id: string): ReadonlyArray<readonly [tool: string, args: object, other: object]> => [
  ["add", { row: { a: 1 } }, { row: { a: 2 } }],
  ["upsert", { key: ["k"], row: { k: 1 } }, { key: ["k"], row: { k: 2 } }],
  ["update_row", { id, patch: { n: 2 } }, { id, patch: { n: 3 } }],
  ["update_where", { filter: { k: 1 }, patch: { n: 3 } }, { filter: { k: 1 }, patch: { n: 3 }, allowMultiple: true }],
  ["batch", { operations: [{ action: "add", row: { b: 1 } }] }, { operations: [{ action: "add", row: { b: 2 } }] }],
  ["delete", { filter: { b: 1 } }, { filter: { b: 2 } }],
  ["restore", { id, version: 1 }, { id, version: 2 }],
  ["remember", { type: "code", ...memory }, { type: "markdown", ...memory }],
  ["remember_resource", { url: "a", ...memory }, { url: "b", ...memory }],
  ["remember_code", { language: "a", ...memory }, { language: "b", ...memory }],
  ["remember_markdown", { notes: "a", ...memory }, { notes: "b", ...memory }],
  ["remember_command", { shell: "a", ...memory }, { shell: "b", ...memory }],
  ["remember_config", { key: ["type"], format: "a", ...memory }, { key: ["type"], format: "b", ...memory }]
]

layer(serviceLayer({ LIMIT_ROWS_PER_TABLE: "60" }), { excludeTestServices: true })("Repeated calls", (it) => {
  it.effect("with an idempotencyKey write once, and give the first answer again, which says so", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      const { row } = yield* done(token, "add", { table: "seed", row: { k: 0 } })
      const { id } = row as { id: string }
      yield* done(token, "update_row", { table: "seed", id, patch: { k: 9 } })
      for (const [index, [name, args, other]] of writesOn(id).entries()) {
        const table = "id" in args ? "seed" : "t"
        const whole = { table, ...args, idempotencyKey: `key ${index}` }
        const first = yield* callTool(token, name, whole)
        assert.isUndefined(first.isError, `${name} ${first.content[0]!.text}`)
        assert.notProperty(first.structuredContent, "replayed", name)
        const before = yield* dump(accountId)
        const again = yield* callTool(token, name, whole)
        assert.deepStrictEqual(again.structuredContent, { ...first.structuredContent, replayed: true }, name)
        assert.strictEqual(again.content[0]!.text, JSON.stringify(again.structuredContent), name)
        const problem = yield* refused(token, name, { ...whole, ...other })
        assert.strictEqual(problem["code"], "idempotency_key_reused", name)
        assert.strictEqual(yield* dump(accountId), before, name)
      }
    })
  )

  it.effect("P3 are repeats over REST and another connection too, of one account, operation and table", () =>
    Effect.gen(function* () {
      const one = yield* newConnection()
      const other = yield* newConnection(undefined, one)
      const args = { table: "t", row: { a: 1 }, idempotencyKey: "k" }
      const first = yield* done(one.token, "add", args)
      assert.deepStrictEqual(yield* done(other.token, "add", args), { ...first, replayed: true })
      const rest = yield* request("POST", "/v1/t", {
        key: one.apiKey,
        body: '{"a":1}',
        headers: { "idempotency-key": "k" }
      })
      assert.strictEqual(rest.headers.get("idempotent-replayed"), "true")
      assert.deepStrictEqual(JSON.parse(rest.text), first["row"])
      const operations = [
        { action: "upsert", key: ["k"], row: { k: 1 } },
        { action: "upsert", key: "k", row: { k: 1, n: 1 } },
        { action: "update_where", filter: { k: 1 }, patch: { n: 2 } },
        { action: "update_where", filter: { k: 1 }, patch: { n: 3 }, allowMultiple: false },
        { action: "add", row: { b: 1 }, idempotencyKey: "own" },
        { action: "delete", filter: { b: 1 } }
      ]
      const { id } = first["row"] as { id: string }
      const both: ReadonlyArray<readonly [tool: string, body: object]> = [
        ["upsert", { key: ["k"], row: { k: 1 } }],
        ["upsert", { key: "k", row: { k: 1 } }],
        ["update_row", { patch: { n: 1 }, id }],
        ["update_where", { patch: { n: 2 }, filter: { k: 1 } }],
        ["restore", { version: 1, id }],
        ["batch", { operations }],
        ["delete", { filter: { b: 1 } }]
      ]
      for (const [index, [tool, body]] of both.entries()) {
        const key = `both ${index}`
        const [method, path] = tool === "delete" ? (["DELETE", "/v1/t"] as const) : (["POST", `/v1/t/${tool}`] as const)
        const kept = yield* request(method, path, {
          key: one.apiKey,
          body: JSON.stringify(body),
          headers: { "idempotency-key": key }
        })
        assert.strictEqual(kept.status, 200, kept.text)
        const {
          change,
          ids,
          replayed,
          restorable_until: _until,
          ...again
        } = yield* done(one.token, tool, {
          table: "t",
          ...body,
          idempotencyKey: key
        })
        assert.isTrue(replayed, tool)
        assert.strictEqual(String(change ?? null), String(kept.headers.get("x-change")))
        assert.strictEqual(ids !== undefined, tool === "delete" && change !== undefined)
        assert.strictEqual(JSON.stringify(again), kept.text)
      }
      yield* done(one.token, "delete", { table: "t", filter: { k: 1 } })
      for (const again of [
        { ...args, table: "u" },
        { ...args, idempotencyKey: "l" }
      ]) {
        assert.notDeepEqual(yield* done(one.token, "add", again), first)
      }
      assert.deepStrictEqual(yield* done(one.token, "count", { table: "t" }), { count: 2 })
    })
  )

  it.effect("P3 are repeats though a key field or a default is spelled otherwise", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      const overRest = (path: string, body: object, idempotencyKey: string) =>
        request("POST", `/v1/t${path}`, {
          key,
          body: JSON.stringify(body),
          headers: { "idempotency-key": idempotencyKey }
        })
      yield* done(token, "add", { table: "t", row: { k: 1 } })
      const [upsert, update] = [
        { action: "upsert", key: "k", row: { k: 1 } },
        { action: "update_where", filter: { k: 1 }, patch: {} }
      ]
      const list = { ...upsert, key: ["k"] }
      const plain = (operation: object) => ({ ...operation, action: undefined })
      for (const [name, path, rest, tool] of [
        ["upsert", "/upsert", plain(upsert), plain(list)],
        ["update_where", "/update_where", plain(update), plain(update)],
        ["update_where", "/update_where", { ...plain(update), allowMultiple: false }, plain(update)],
        [
          "batch",
          "/batch",
          { operations: [upsert, update] },
          { operations: [list, { ...update, allowMultiple: false }] }
        ]
      ] as const) {
        const idempotencyKey = `${name} ${JSON.stringify(rest).length}`
        const first = yield* overRest(path, rest, idempotencyKey)
        assert.strictEqual(first.status, 200, first.text)
        const again = yield* done(token, name, { table: "t", ...tool, idempotencyKey })
        const change = Number(first.headers.get("x-change"))
        assert.deepStrictEqual(again, { ...JSON.parse(first.text), change, replayed: true }, name)
      }
    })
  )

  it.effect("are writes of their own where the key is a client's word for none", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const words = [
        "null",
        "undefined",
        "None",
        "NaN",
        "",
        "NULL",
        "nil",
        "[object Object]",
        " ",
        '"null"',
        '""',
        '"None"'
      ]
      for (const [index, idempotencyKey] of words.entries()) {
        const { row } = yield* done(token, "add", { table: "t", row: { index }, idempotencyKey })
        assert.deepInclude(row, { index })
        const operations = [0, 1].map((n) => ({ action: "add", row: { index, n }, idempotencyKey }))
        yield* done(token, "batch", { table: "t", operations, idempotencyKey })
        assert.deepInclude(yield* done(token, "count", { table: "t", filter: { index } }), { count: 3 })
        const deleted = yield* done(token, "delete", { table: "t", filter: { index }, idempotencyKey })
        assert.deepInclude(deleted, { deleted: 3 })
        assert.isUndefined(deleted["replayed"])
      }
    })
  )

  it.effect("P1 write once though they come at the same time", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const args = { table: "t", row: { a: 1 }, idempotencyKey: "k" }
      const answers = yield* Effect.all(
        Array.from({ length: 20 }, () => done(token, "add", args)),
        { concurrency: "unbounded" }
      )
      assert.lengthOf(new Set(answers.map(({ row }) => JSON.stringify(row))), 1)
      assert.lengthOf(
        answers.filter((answer) => !("replayed" in answer)),
        1
      )
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 1 })
    })
  )
})
