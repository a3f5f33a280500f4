import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { bodyOf, request, serviceLayer } from "../../support/TestService.ts"
import { narrowed, toolsOf } from "./Listing.ts"

const memory = { type: "markdown", title: "A title", content: "Some text" }

/** Every call that names a table and could change something. */
const writesTo = (table: string, id: string): ReadonlyArray<readonly [tool: string, args: object]> => [
  ["add", { table, row: { a: 1 } }],
  ["upsert", { table, key: ["a"], row: { a: 1 } }],
  ["update_row", { table, id, patch: { a: 2 } }],
  ["update_where", { table, filter: { secret: 1 }, patch: { a: 2 } }],
  ["batch", { table, operations: [{ action: "delete", filter: { secret: 1 } }] }],
  ["delete", { table, filter: { secret: 1 } }],
  ["restore", { table, id, version: 1 }],
  ["remember", { table, ...memory }],
  ["remember_code", { table, title: "a", content: "b", key: ["title"] }]
]

const noRows = (note: string) => ({ rows: [], has_more: false, matched: 0, note })

const othersHave = (table: string) => `No table "${table}" has rows. Those that have are "notes".`

const opensOf = (table: string, id: string): ReadonlyArray<readonly [tool: string, args: object]> => [
  ["open_row", { table, id }],
  ["open_text_field", { table, id, field: "text" }]
]

const readsOf = (table: string, id: string): ReadonlyArray<readonly [tool: string, args: object, answer: object]> => [
  ["query", { table }, noRows(othersHave(table))],
  ["query", { table, filter: { secret: 1 }, sort: "secret", includeLink: true }, noRows(othersHave(table))],
  ["count", { table }, { count: 0, note: othersHave(table) }],
  ["versions", { table, id }, { versions: [], has_more: false, note: "No row or version in this table has this id." }]
]

const withoutId = (problem: Record<string, unknown>) => ({ ...problem, request_id: undefined })

/** A person with a row in a table, which has an old version. */
const withSecret = Effect.gen(function* () {
  const full = yield* newConnection()
  const { row } = yield* done(full.token, "add", { table: "private", row: { secret: 1, text: "x" } })
  const { id } = row as { id: string }
  yield* done(full.token, "update_row", { table: "private", id, patch: { changed: true } })
  return { full, id, kept: yield* done(full.token, "query", { table: "private" }) }
})

layer(serviceLayer(), { excludeTestServices: true })("Narrowed connections", (it) => {
  it.effect("43 that may only read are not told of other tools, and refused in words when they call one", () =>
    Effect.gen(function* () {
      const { full, id, kept } = yield* withSecret
      const { token } = yield* narrowed("read", full)
      const names = (yield* toolsOf(token)).map(({ name }) => name)
      assert.deepStrictEqual(names, ["list_tables", "query", "search", "count", "versions"])
      for (const [name, args] of [...writesTo("private", id), ...opensOf("private", id), ["delete", {}] as const]) {
        const problem = yield* refused(token, name, { dryRun: true, ...args })
        assert.strictEqual(
          problem["detail"],
          "This connection is read-only. Reconnect and allow saving memories.",
          name
        )
        assert.strictEqual(problem["code"], "read_only")
      }
      assert.deepStrictEqual(yield* done(token, "query", { table: "private" }), kept)
      assert.lengthOf((yield* done(token, "versions", { table: "private", id }))["versions"] as [], 1)
    })
  )

  it.effect("43 that are confined to tables read others as empty, and do not list them", () =>
    Effect.gen(function* () {
      const { full, id, kept } = yield* withSecret
      const { token } = yield* narrowed("tables", full)
      yield* done(token, "add", { table: "notes", row: { a: 1 } })
      const listed = (yield* done(token, "list_tables"))["tables"] as ReadonlyArray<Record<string, unknown>>
      const named = listed.map(({ fields, name, rows }) => ({ name, rows, fields }))
      assert.deepStrictEqual(named, [{ name: "notes", rows: 1, fields: { a: "number" } }])
      for (const table of ["private", "never_written"]) {
        for (const [name, args, answer] of readsOf(table, id)) {
          assert.deepStrictEqual(yield* done(token, name, args), answer, `${name} ${table}`)
        }
      }
      assert.strictEqual(
        (yield* refused(token, "query", { table: "private", filter: { a: [] } }))["code"],
        "invalid_request"
      )
      assert.deepStrictEqual(yield* done(full.token, "query", { table: "private" }), kept)
    })
  )

  it.effect(
    "name the tables that have rows where one has none, not where none match, when they may see everything too",
    () =>
      Effect.gen(function* () {
        const { token } = yield* newConnection()
        yield* done(token, "add", { table: "t", row: { a: 1 } })
        for (const args of [{}, { filter: {} }, { filter: { a: 1 } }]) {
          assert.deepStrictEqual(
            yield* done(token, "query", { table: "T", ...args }),
            noRows('No table "T" has rows; did you mean "t"?')
          )
        }
        const unmatched = { rows: [], has_more: false, matched: 0 }
        for (const filter of [{ a: 2 }, { id: "x" }]) {
          assert.deepStrictEqual(yield* done(token, "query", { table: "t", filter }), unmatched)
        }
        yield* done(token, "delete", { table: "t", filter: { a: 1 } })
        assert.deepStrictEqual(yield* done(token, "query", { table: "t", filter: { a: 1 } }), unmatched)
      })
  )

  it.effect("43 that are confined to tables are told what these hold, not what the account does", () =>
    Effect.gen(function* () {
      const { full } = yield* withSecret
      const { token } = yield* narrowed("tables", full)
      const usage = Effect.map(done(token, "list_tables"), ({ usage }) => usage as unknown)
      assert.deepStrictEqual(yield* usage, { tables: 0, storage_bytes: 0 })
      yield* done(token, "add", { table: "notes", row: { a: "é" } })
      yield* done(token, "add", { table: "plans", row: {} })
      assert.deepStrictEqual(yield* usage, { tables: 2, storage_bytes: 12 })
      const { storage_bytes } = (yield* done(full.token, "list_tables"))["usage"] as { storage_bytes: number }
      assert.isAbove(storage_bytes, 12)
    })
  )

  it.effect("43 that are confined to tables change nothing in others, whether these exist or not", () =>
    Effect.gen(function* () {
      const { full, id, kept } = yield* withSecret
      const { token } = yield* narrowed("tables", full)
      const absent = "never_w"
      assert.strictEqual(absent.length, "private".length)
      const calls = (table: string) => [
        ...writesTo(table, id),
        ...opensOf(table, id),
        ["update_where", { table, filter: { secret: 1 }, patch: {}, allowMultiple: true }] as const,
        ["update_where", { table, filter: { secret: 1 }, patch: {}, allowMultiple: true, dryRun: true }] as const,
        ["delete", { table, filter: { secret: 1 }, dryRun: true }] as const,
        ["delete", { table, filter: {} }] as const
      ]
      const other = calls(absent)
      for (const [index, [name, args]] of calls("private").entries()) {
        const [hidden, missing] = [yield* callTool(token, name, args), yield* callTool(token, ...other[index]!)]
        const told = (answer: typeof hidden) =>
          JSON.stringify(withoutId(JSON.parse(answer.content[0]!.text))).replaceAll(absent, "private")
        assert.strictEqual(told(hidden), told(missing), name)
        assert.strictEqual(hidden.isError, missing.isError)
      }
      assert.deepStrictEqual(yield* done(full.token, "query", { table: "private" }), kept)
      const tables = (yield* done(full.token, "list_tables"))["tables"] as ReadonlyArray<{ name: string }>
      assert.deepStrictEqual(
        tables.map(({ name }) => name),
        ["private"]
      )
    })
  )

  it.effect("43 that are confined to tables learn which these are where they would make a row elsewhere", () =>
    Effect.gen(function* () {
      const { full, id } = yield* withSecret
      const { token } = yield* narrowed("tables", full)
      const makers = writesTo("private", id).filter(([name]) => /^(add|upsert|batch|remember.*)$/.test(name))
      for (const [name, args] of [...makers, ["remember", memory] as const]) {
        const { detail } = yield* refused(token, name, args)
        assert.strictEqual(detail, "/table must be one of this connection's tables: notes, plans.")
      }
      const told = yield* refused(token, "update_row", { table: "private", id, patch: {} })
      assert.strictEqual(told["code"], "row_not_found")
      assert.deepStrictEqual(yield* done(token, "delete", { table: "private", filter: { secret: 1 } }), { deleted: 0 })
      yield* done(token, "remember", { ...memory, table: "plans" })
    })
  )

  it.effect("give links that end as soon as they do", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      const { row } = yield* done(token, "add", { table: "notes", row: { text: "mine" } })
      const link = yield* done(token, "open_row", { table: "notes", id: (row as { id: string }).id })
      const paths = [link["viewer_url"], link["download_url"]].map((url) => new URL(url as string).pathname)
      const statuses = Effect.forEach(paths, (path) => Effect.map(request("GET", path), ({ status }) => status))
      assert.deepStrictEqual(yield* statuses, [200, 200])
      const listed = bodyOf<{ connections: ReadonlyArray<{ id: string }> }>(
        yield* request("GET", "/v1/_connections", { key })
      )
      yield* request("DELETE", `/v1/_connections/${listed.connections[0]!.id}`, { key })
      assert.deepStrictEqual(yield* statuses, [404, 404])
    })
  )

  it.effect("43 make links to their own tables, and no others", () =>
    Effect.gen(function* () {
      const { full, id } = yield* withSecret
      const { token } = yield* narrowed("tables", full)
      const { row } = yield* done(token, "add", { table: "notes", row: { text: "mine" } })
      const link = yield* done(token, "open_row", { table: "notes", id: (row as { id: string }).id })
      const path = new URL(link["download_url"] as string).pathname
      assert.strictEqual(bodyOf(yield* request("GET", path))["text"], "mine")
      for (const table of ["private", "notes"]) {
        assert.strictEqual((yield* refused(token, "open_row", { table, id }))["code"], "row_not_found")
        assert.strictEqual(
          (yield* refused(token, "open_text_field", { table, id, field: "text" }))["code"],
          "row_not_found"
        )
      }
    })
  )
})

layer(serviceLayer({ LIMIT_STORAGE_BYTES: "2000" }), { excludeTestServices: true })(
  "Narrowed connections to a full account",
  (it) => {
    it.effect("43 that are confined to tables are refused for want of room without the account's total", () =>
      Effect.gen(function* () {
        const { full } = yield* withSecret
        const { token } = yield* narrowed("tables", full)
        const row = { text: "x".repeat(1980) }
        const operations = [{ action: "add", row }]
        for (const [name, args] of [
          ["add", { row }],
          ["upsert", { key: ["text"], row }],
          ["batch", { operations }],
          ["batch", { operations, dryRun: true }]
        ] as const) {
          assert.deepInclude(yield* refused(full.token, name, { table: "notes", ...args }), {
            code: "storage_limit",
            limit: 2000,
            current: 38
          })
          const problem = yield* refused(token, name, { table: "notes", ...args })
          assert.deepInclude(problem, {
            code: "storage_limit",
            limit: 2000,
            detail: "The account has no room for this."
          })
          assert.notProperty(problem, "current")
        }
      })
    )
  }
)

layer(serviceLayer({ LIMIT_TABLES: "2" }), { excludeTestServices: true })(
  "Narrowed connections to an account with all its tables",
  (it) => {
    it.effect("43 that are confined to tables are refused another one without the number of the account's", () =>
      Effect.gen(function* () {
        const { full } = yield* withSecret
        const { token } = yield* narrowed("tables", full)
        yield* done(token, "add", { table: "notes", row: {} })
        const operations = [{ action: "add", row: {} }]
        for (const [name, args] of [
          ["add", { row: {} }],
          ["upsert", { key: ["a"], row: { a: 1 } }],
          ["remember", memory],
          ["batch", { operations }],
          ["batch", { operations, dryRun: true }]
        ] as const) {
          const told = yield* refused(full.token, name, { table: "plans", ...args })
          assert.deepInclude(told, { code: "table_limit", limit: 2, current: 2 })
          const problem = yield* refused(token, name, { table: "plans", ...args })
          assert.deepInclude(problem, { code: "table_limit", detail: "The account has no room for another table." })
          assert.notProperty(problem, "current")
        }
      })
    )
  }
)
