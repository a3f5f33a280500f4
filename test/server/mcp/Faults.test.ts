import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { callTool, done, newConnection, placesOf, refused, rpcOf } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { sendModern } from "./Messages.ts"
import { cpuTime } from "../../support/CpuTime.ts"

/** Arguments that are refused, with the places at fault and a word that the message says. */
const faults: ReadonlyArray<readonly [tool: string, args: unknown, paths: ReadonlyArray<string>, words: RegExp]> = [
  ["query", { table: "t", limit: "five" }, ["/limit"], /must be a number: a whole number from 1 to 1000/],
  ["query", { table: "t", limit: 0 }, ["/limit"], /1 to 1000/],
  ["query", { table: "t", limit: 1001 }, ["/limit"], /1 to 1000/],
  ["query", { table: "t", limit: 1.5 }, ["/limit"], /1 to 1000|whole/],
  [
    "query",
    { table: "t", fliter: {} },
    ["/fliter"],
    /not known here; known are table, limit, includeLink, sort, search, fields, cursor, filter/
  ],
  ["query", { table: "t", filter: [] }, ["/filter"], /object/],
  ["query", { table: "t", filter: { a: { $gt: 1 } } }, ["/filter/a/$gt"], /is no operator: use eq, ne, gt/],
  ["query", { table: "t", sort: "" }, ["/sort"], /field/],
  ["query", { table: "t", fields: "" }, ["/fields"], /array/],
  ["query", { table: "t", includeLink: "yes" }, ["/includeLink"], /true or false/],
  ["query", {}, ["/table"], /required/],
  ["query", { table: "t".repeat(65) }, ["/table"], /at most 63/],
  ["list_tables", { table: "t" }, ["/table"], /not known/],
  ["query", { table: 1, limit: 0, x: 1 }, ["/x", "/table", "/limit"], /not known.*string.*1 to 1000/],
  ["add", { table: "t" }, ["/row"], /required/],
  ["add", { table: "t", row: [] }, ["/row"], /object/],
  ["add", { table: "t", row: "text" }, ["/row"], /object/],
  ["add", { table: "t", row: { created_at: 1 } }, ["/row/created_at"], /set by the service/],
  ["add", { table: "t", row: "{bad" }, ["/row"], /JSON|name/i],
  ["add", { table: "t", row: {}, idempotencyKey: "x".repeat(256) }, ["/idempotencyKey"], /1 to 255/],
  ["add", { table: "t", row: {}, idempotencyKey: "é" }, ["/idempotencyKey"], /ASCII/],
  ["upsert", { table: "t", key: [], row: {} }, ["/key"], /at least one/],
  ["upsert", { table: "t", key: "b", row: { a: 1 } }, ["/key"], /\\"b\\", which is not in row/],
  ["upsert", { table: "t", key: [1], row: { a: 1 } }, ["/key/0"], /string/],
  ["upsert", { table: "t", key: ["a"], row: {} }, ["/key"], /not in row/],
  ["update_row", { table: "t", id: 7 }, ["/id"], /string/],
  ["update_row", { table: "t", id: "x" }, ["/patch"], /required, or edits/],
  ["update_where", { table: "t", filter: {}, patch: {} }, ["/filter"], /empty filter/i],
  ["restore", { table: "t", id: "x", version: 0 }, ["/version"], /from 1/],
  ["restore", { table: "t", id: "x", version: "first" }, ["/version"], /must be a number: a whole number from 1/],
  ["batch", { table: "t", operations: [] }, ["/operations"], /1 to 100/],
  ["batch", { table: "t", operations: {} }, ["/operations"], /array/],
  ["batch", { table: "t", operations: [{ action: "drop" }] }, ["/operations/0/action"], /one of add, upsert, /],
  ["batch", { table: "t", operations: [{ action: "add" }] }, ["/operations/0/row"], /required for add/],
  [
    "batch",
    {
      table: "t",
      operations: [
        { action: "add", row: {} },
        { action: "delete", filter: { a: 1 }, row: {} }
      ]
    },
    ["/operations/1/row"],
    /not known for delete/
  ],
  [
    "batch",
    { table: "t", operations: [{ action: "add", id: "x" }, { action: "delete" }] },
    ["/operations/0/row", "/operations/0/id", "/operations/1/filter"],
    /required for add.*not known for add.*required for delete/
  ],
  [
    "batch",
    { table: "t", operations: [{ action: "add", row: { id: 1 } }] },
    ["/operations/0/row/id"],
    /operations\/0\/row\/id \(add\): id is set by the service/
  ],
  [
    "batch",
    {
      table: "t",
      operations: [
        { action: "add", row: {} },
        { action: "update_where", filter: {}, patch: {} }
      ]
    },
    ["/operations/1/filter"],
    /operations\/1\/filter \(update_where\): An empty filter/
  ],
  [
    "batch",
    {
      table: "t",
      operations: [
        { action: "add", row: {} },
        { action: "update_row", id: "x", patch: {} }
      ]
    },
    ["/operations/1"],
    /operations\/1 \(update_row\): The table t has no row with this id/
  ],
  ["remember", { type: "secret", title: "a", content: "b" }, ["/type"], /one of note, resource, code, markdown, /],
  ["remember", { type: 1, title: "a", content: "b" }, ["/type"], /one of note, resource, code, markdown, /],
  ["remember", { type: "code", title: "a", content: 1 }, ["/content"], /string/],
  ["remember", { type: "resource", title: "a", content: "b" }, ["/url"], /required/],
  ["remember", { type: "code", title: "a", content: "x".repeat(70_000) }, ["/content"], /65536/],
  [
    "remember",
    { type: "code", title: "a", content: "b", key: ["shell"] },
    ["/key"],
    /names \\"shell\\"; .* can name are type, title, content\./
  ],
  [
    "remember",
    { type: "code", title: "a", content: "b", key: ["safety"] },
    ["/key"],
    /names \\"safety\\"; .* can name are type/
  ],
  ["remember_markdown", { title: "a", content: "b", shell: "c" }, ["/shell"], /not known/]
]

/** Arguments as text that no client makes from values. */
const texts: ReadonlyArray<readonly [args: string, code: string, path: string]> = [
  ['{"table":"t","row":{"a":1,"a":2}}', "duplicate_field", "/row/a"],
  ['{"table":"t","row":{"b":[{"a/b":1,"a/b":2}]}}', "duplicate_field", "/row/b/0/a~1b"],
  ['{"table":"t","table":"u","row":{}}', "duplicate_field", "/table"],
  [String.raw`{"table":"t","row":"{\"a\":1,\"a\":2}"}`, "duplicate_field", "/row/a"],
  [`{"table":"t","row":{"a":${"[".repeat(100)}${"]".repeat(100)}}}`, "too_deep", "/row/a/"],
  [`{"table":"t","row":{"a":${"[".repeat(30_000)}${"]".repeat(30_000)}}}`, "too_deep", "/row/a/"],
  [`{"table":"t","row":${'{"a":'.repeat(30_000)}1${"}".repeat(30_000)}}`, "too_deep", "/row/a/"],
  [`{"table":"t","row":${JSON.stringify(`${'{"a":'.repeat(101)}1${"}".repeat(101)}`)}}`, "too_deep", "/row/a/"]
]

layer(serviceLayer(), { excludeTestServices: true })("Faulty calls", (it) => {
  it.effect("41 are answered with every place at fault, in words that help", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const untold: Array<string> = []
      for (const [name, args, paths, words] of faults) {
        const problem = yield* refused(token, name, args)
        const told = `${name} ${JSON.stringify(args).slice(0, 200)} ${JSON.stringify(problem)}`
        const isTold = placesOf(problem).join() === paths.join() && words.test(JSON.stringify(problem))
        if (!isTold) untold.push(told)
      }
      assert.deepStrictEqual(untold, [])
      assert.deepStrictEqual((yield* done(token, "list_tables"))["tables"], [])
    })
  )

  it.effect("41 in their text are placed within the arguments, and told in time", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const [args, code, path] of texts) {
        const start = cpuTime()
        const problem = yield* refused(token, "add", args)
        const told = `${args.slice(0, 100)} ${JSON.stringify(problem).slice(0, 500)}`
        assert.strictEqual(problem["code"], code, told)
        if (code === "too_deep") assert.isTrue(placesOf(problem)[0]!.startsWith(path), told)
        else assert.deepStrictEqual(placesOf(problem), [path], told)
        assert.isBelow(cpuTime() - start, 2000, told)
      }
      const inFilter = yield* refused(token, "query", '{"table":"t","filter":{"a":1,"a":2}}')
      assert.deepStrictEqual(placesOf(inFilter), ["/filter/a"])
      const items = '[{"action":"add","row":{}},{"action":"add","row":{"x":1,"x":1}}]'
      const inBatch = yield* refused(token, "batch", `{"table":"t","operations":${items}}`)
      assert.deepStrictEqual(placesOf(inBatch), ["/operations/1/row/x"])
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 0 })
    })
  )

  it.effect("41 whose arguments are no object are told what to send, in words for the model", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const text = String.raw`"{\"table\":\"t\",\"row\":{}}"`
      const itself = yield* refused(token, "add", text)
      assert.deepInclude(itself, {
        code: "invalid_request",
        detail: 'arguments must be a JSON object itself, for example {"table":"tasks"}, not a string that holds one.'
      })
      assert.deepStrictEqual(placesOf(itself), [])
      for (const args of ["[]", "5", "true", '[{"table":"t"}]']) {
        const problem = yield* refused(token, "list_tables", args)
        assert.match(String(problem["detail"]), /must be a JSON object, .* takes \{\}/, args)
      }
      const modern = yield* sendModern(token, "tools/call", { name: "add", arguments: "{}" }, { "mcp-name": "add" })
      assert.include(modern.text, "not a string that holds one")
    })
  )

  it.effect("41 may say null for what they leave out, as models do that fill in every argument", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const nothing = { key: null, id: null, patch: null, filter: null, allowMultiple: null, idempotencyKey: null }
      const operations = [
        { action: "add", row: { a: null }, ...nothing },
        { action: "update_where", row: null, ...nothing, filter: { a: null }, patch: { b: null } }
      ]
      for (const given of [operations, JSON.stringify(operations)]) {
        yield* done(token, "batch", { table: "t", operations: given, dryRun: true, idempotencyKey: null })
      }
      yield* done(token, "batch", { table: "t", operations, dryRun: null })
      const found = yield* done(token, "query", {
        table: "t",
        filter: null,
        sort: null,
        limit: null,
        includeLink: null
      })
      assert.deepInclude((found["rows"] as ReadonlyArray<object>)[0], { a: null, b: null })
      const memory = { title: "a", content: "b", notes: null, table: null, key: null, tags: "null" }
      const { row } = yield* done(token, "remember", { type: "code", ...memory })
      assert.doesNotHaveAnyKeys(row as object, ["notes", "tags"])
      for (const args of ["null", "{}"]) assert.property(yield* done(token, "list_tables", args), "tables")
      assert.deepStrictEqual(placesOf(yield* refused(token, "count", "null")), ["/table"])
      for (const [name, args] of [
        ["delete", { table: "t", filter: null }],
        ["update_where", { table: "t", filter: null, patch: {} }]
      ] as const) {
        assert.deepStrictEqual(placesOf(yield* refused(token, name, args)), ["/filter"])
      }
      assert.deepStrictEqual(placesOf(yield* refused(token, "count", { table: "t", none: null })), ["/none"])
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 1 })
    })
  )

  it.effect("41 may name the one field of a natural key as REST takes it", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const memory = { type: "code", title: "a", content: "b" }
      const first = yield* done(token, "upsert", { table: "t", key: "a", row: { a: 1 } })
      for (const key of ["a", ["a"], '["a"]']) {
        const again = yield* done(token, "upsert", { table: "t", key, row: { a: 1, n: 1 } })
        assert.isFalse(again["created"])
        assert.strictEqual((again["row"] as { id: string }).id, (first["row"] as { id: string }).id)
      }
      const operations = [{ action: "upsert", key: "a", row: { a: 1, n: 2 } }]
      yield* done(token, "batch", { table: "t", operations })
      yield* done(token, "remember", { ...memory, key: "title" })
      assert.isFalse((yield* done(token, "remember", { ...memory, key: ["title"] }))["created"])
      assert.deepStrictEqual(
        yield* done(token, "query", { table: "t", filter: { n: 2 } }).pipe(
          Effect.map(({ rows }) => (rows as []).length)
        ),
        1
      )
    })
  )

  it.effect("41 that are no UTF-8 are no JSON", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const head =
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"table":"t","row":{"a":"'
      const body = Buffer.concat([Buffer.from(head), Buffer.from([0xc3, 0x28]), Buffer.from('"}}}}')])
      const answer = yield* callMcp(token, { body: new Uint8Array(body) as never })
      assert.strictEqual(answer.status, 400, answer.text)
      assert.strictEqual(rpcOf<{ error: { code: number } }>(answer).error.code, -32_700)
      assert.deepStrictEqual(yield* done(token, "count", { table: "t" }), { count: 0 })
    })
  )

  it.effect("41 that name no tool are errors of the protocol", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const name of ["drop", "__proto__", "constructor", "toString", "", "Add"]) {
        const params = JSON.stringify({ name, arguments: {} })
        const answer = yield* callMcp(token, {
          body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
        })
        assert.strictEqual(answer.status, 200, name)
        assert.strictEqual(rpcOf<{ error: { code: number } }>(answer).error.code, -32_602, name)
      }
    })
  )

  it.effect("41 tell nothing of the inside where the fault is the service's own", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const sql = yield* SqlClient.SqlClient
      yield* done(token, "add", { table: "t", row: { a: 1 } })
      yield* sql`ALTER TABLE rows RENAME TO rows_away`
      const answer = yield* Effect.ensuring(
        callTool(token, "query", { table: "t" }),
        Effect.orDie(sql`ALTER TABLE rows_away RENAME TO rows`)
      )
      assert.strictEqual(answer.isError, true)
      const problem = JSON.parse(answer.content[0]!.text) as Record<string, unknown>
      assert.strictEqual(problem["code"], "internal_error")
      assert.isString(problem["request_id"])
      assert.match(String(problem["hint"]), /the same idempotencyKey/)
      assert.notMatch(answer.content[0]!.text, /rows|relation|42P01|\.ts|stack/i)
      yield* done(token, "query", { table: "t" })
    })
  )
})
