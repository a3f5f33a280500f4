import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { request, serviceLayer } from "../../support/TestService.ts"

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

/** All that is stored of an account, links and limits aside. */
const dump = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  return JSON.stringify([
    yield* sql`SELECT to_jsonb(a) - 'last_used_at' AS it FROM accounts a WHERE account_id = ${accountId}`,
    yield* sql`SELECT to_jsonb(t) AS it FROM tables t WHERE account_id = ${accountId} ORDER BY name`,
    yield* sql`SELECT to_jsonb(r) AS it FROM rows r WHERE account_id = ${accountId} ORDER BY id`,
    yield* sql`SELECT to_jsonb(v) AS it FROM versions v WHERE account_id = ${accountId} ORDER BY row_id, version`,
    yield* sql`SELECT to_jsonb(i) AS it FROM idempotency_records i WHERE account_id = ${accountId} ORDER BY scope, key`
  ])
})

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
        const { replayed, ...again } = yield* done(one.token, tool, { table: "t", ...body, idempotencyKey: key })
        assert.isTrue(replayed, tool)
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
        assert.deepStrictEqual(again, { ...JSON.parse(first.text), replayed: true }, name)
      }
    })
  )

  it.effect("are writes of their own where the key is a client's word for none", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const words = ["null", "undefined", "None", "NaN", "", "NULL", " ", '"null"', '""', '"None"']
      for (const [index, idempotencyKey] of words.entries()) {
        const { row } = yield* done(token, "add", { table: "t", row: { index }, idempotencyKey })
        assert.deepInclude(row, { index })
        const operations = [0, 1].map((n) => ({ action: "add", row: { index, n }, idempotencyKey }))
        yield* done(token, "batch", { table: "t", operations, idempotencyKey })
        assert.deepInclude(yield* done(token, "count", { table: "t", filter: { index } }), { count: 3 })
        const deleted = yield* done(token, "delete", { table: "t", filter: { index }, idempotencyKey })
        assert.deepStrictEqual(deleted, { deleted: 3 })
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

/** The statements that were sent, in order. */
const sent: Array<string> = []
const transformer: Statement.Transformer = (statement) =>
  Effect.sync(() => {
    sent.push(statement.compile()[0])
    return statement
  })

layer(
  serviceLayer({ LIMIT_ROWS_PER_TABLE: "6" }).pipe(
    Layer.provideMerge(Layer.succeed(Statement.CurrentTransformer, transformer))
  ),
  { excludeTestServices: true }
)("Dry runs", (it) => {
  const filter = { g: 1 }

  it.effect("tell what would change, and change nothing", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      const ids: Array<string> = []
      for (let n = 0; n < 5; n++) {
        const { row } = yield* done(token, "add", { table: "t", row: { n, g: n < 3 ? 1 : 2 } })
        ids.push((row as { id: string }).id)
      }
      const before = yield* dump(accountId)
      const idempotencyKey = "k"
      const matching = { dry_run: true, matched: 3, ids: ids.slice(0, 3), has_more: false }
      const base = { table: "t", filter, dryRun: true, idempotencyKey }
      assert.deepStrictEqual(yield* done(token, "delete", base), matching)
      assert.deepStrictEqual(
        yield* done(token, "update_where", { ...base, patch: { x: 1 }, allowMultiple: true }),
        matching
      )
      const one = { table: "t", filter: { id: ids[4] }, dryRun: true }
      const single = { dry_run: true, matched: 1, ids: [ids[4]], has_more: false }
      assert.deepStrictEqual(yield* done(token, "delete", one), single)
      assert.deepStrictEqual(yield* done(token, "update_where", { ...one, patch: { x: 1 } }), single)
      const nothing = { dry_run: true, matched: 0, ids: [], has_more: false }
      assert.deepStrictEqual(yield* done(token, "delete", { ...one, filter: { g: 3 } }), nothing)
      const operations = [
        { action: "delete", filter },
        { action: "add", row: { g: 3 }, idempotencyKey: "of one" },
        { action: "update_where", filter: { g: 2 }, patch: { g: 4 }, allowMultiple: true }
      ]
      const batch = yield* done(token, "batch", { table: "t", operations, dryRun: true, idempotencyKey })
      assert.isTrue(batch["dry_run"])
      const results = batch["results"] as ReadonlyArray<{ result: object }>
      assert.deepStrictEqual(results[0]!.result, { deleted: 3 })
      assert.deepInclude(results[2]!.result, { updated: 2 })
      assert.strictEqual(yield* dump(accountId), before)
      assert.deepStrictEqual(yield* done(token, "delete", { table: "t", filter, idempotencyKey }), { deleted: 3 })
    })
  )

  it.effect("tell which rows an update would be refused for, as it must say that it means them all", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      const ids: Array<string> = []
      for (let n = 0; n < 3; n++) {
        const { row } = yield* done(token, "add", { table: "t", row: { n, g: 1 } })
        ids.push((row as { id: string }).id)
      }
      const before = yield* dump(accountId)
      const call = { table: "t", filter, patch: { x: 1 } }
      assert.deepStrictEqual(yield* done(token, "update_where", { ...call, dryRun: true }), {
        dry_run: true,
        matched: 3,
        ids,
        has_more: false,
        needs_allow_multiple: true
      })
      assert.strictEqual(yield* dump(accountId), before)
      assert.deepInclude(yield* refused(token, "update_where", call), { code: "multiple_matches", matches: 3 })
      const all = yield* done(token, "update_where", { ...call, allowMultiple: true, dryRun: true })
      assert.notProperty(all, "needs_allow_multiple")
    })
  )

  it.effect("of a delete read the ids of its rows with one statement, and nothing else of them", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (let n = 0; n < 3; n++) yield* done(token, "add", { table: "t", row: { n, g: 1 } })
      sent.length = 0
      assert.deepInclude(yield* done(token, "delete", { table: "t", filter, dryRun: true }), { matched: 3 })
      const ofRows = sent.filter((text) => /\bFROM (?:rows|tables|versions)\b/.test(text))
      assert.lengthOf(ofRows, 1, ofRows.join("\n"))
      assert.notMatch(ofRows[0]!, /\bdata\b/)
      sent.length = 0
      assert.deepInclude(yield* done(token, "delete", { table: "t", filter: { id: "none" }, dryRun: true }), {
        matched: 0
      })
      assert.isEmpty(sent.filter((text) => /\bFROM rows\b/.test(text)))
    })
  )

  it.effect("fail as the call itself would", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      for (let n = 0; n < 6; n++) yield* done(token, "add", { table: "t", row: { n, g: 1 } })
      const before = yield* dump(accountId)
      const failing = [
        ["delete", { filter: {} }],
        ["delete", { filter: { a: [] } }],
        ["update_where", { filter: { g: 2 }, patch: {} }],
        ["update_where", { filter: { n: 1 }, patch: { id: "x" } }],
        ["update_where", { filter: { n: 1 }, patch: { s: "x".repeat(66_000) } }],
        ["batch", { operations: [{ action: "add", row: {} }] }],
        [
          "batch",
          {
            operations: [
              { action: "delete", filter },
              { action: "update_row", id: "x", patch: {} }
            ]
          }
        ]
      ] as const
      for (const [name, args] of failing) {
        const problems = [true, false].map((dryRun) =>
          Effect.map(refused(token, name, { table: "t", dryRun, ...args }), (problem) => ({
            ...problem,
            request_id: undefined
          }))
        )
        const [dry, real] = yield* Effect.all(problems)
        assert.deepStrictEqual(dry, real, name)
      }
      assert.strictEqual(yield* dump(accountId), before)
    })
  )
})
