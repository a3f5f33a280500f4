import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { createClient } from "../../../src/client/createClient.ts"
import * as EffectClient from "../../../src/client/EffectClient.ts"
import { callTool, done, newConnection, refused } from "../../support/Mcp.ts"
import { BaseUrl, newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, search, wire } from "./Wire.ts"

interface Found {
  readonly hits: ReadonlyArray<{
    readonly table: string
    readonly id: string
    readonly snippet: string
    readonly updated_at: string
  }>
  readonly matched: number
  readonly has_more: boolean
  readonly note?: string
}

/** Stores rows one after another, each in its table. */
const store = Effect.fnUntraced(function* (key: string, rows: ReadonlyArray<readonly [table: string, row: object]>) {
  const ids: Array<string> = []
  for (const [table, row] of rows) {
    const added = yield* wire("POST", `/v1/${table}`, { key, body: JSON.stringify(row) })
    ids.push(jsonOf<{ id: string }>(added).id)
  }
  return ids
})

const everywhere = Effect.fnUntraced(function* (key: string, words: string) {
  const answer = yield* wire("GET", `/v1/_search${search({ search: words })}`, { key })
  assert.strictEqual(answer.status, 200, answer.text)
  return jsonOf<Found>(answer)
})

const clientsOf = Effect.fnUntraced(function* (apiKey: string) {
  const { url: baseUrl } = yield* BaseUrl
  const memory = yield* Layer.build(EffectClient.layer({ apiKey: Redacted.make(apiKey), baseUrl }))
  const effect = yield* Effect.provide(EffectClient.AgentMemory, memory)
  return { promise: createClient({ apiKey, baseUrl }), effect }
})

layer(serviceLayer(), { excludeTestServices: true })("A search of all tables", (it) => {
  it.effect("finds rows by words in any table, last changed first, over REST, MCP and both clients", () =>
    Effect.gen(function* () {
      const { apiKey, token } = yield* newConnection()
      const [visit, , plan] = yield* store(apiKey, [
        ["visits", { what: "The Dentist", when: "9" }],
        ["notes", { dentist: 1, text: "not by names" }],
        ["plans", { deep: [{ text: "call the DÉNTIST" }], n: 9 }]
      ])
      for (const _ of ["by SQL", "from memory"]) {
        const found = yield* everywhere(apiKey, "dentist")
        assert.deepStrictEqual(
          found.hits.map(({ id, snippet, table }) => [table, id, snippet]),
          [
            ["plans", plan, "call the DÉNTIST"],
            ["visits", visit, "The Dentist"]
          ]
        )
        assert.deepStrictEqual([found.matched, found.has_more, found.note], [2, false, undefined])
        assert.match(found.hits[0]!.updated_at, /^\d{4}-.*Z$/)
        assert.deepStrictEqual(yield* done(token, "search", { search: "dentist" }), found as never)
        const { effect, promise } = yield* clientsOf(apiKey)
        assert.deepStrictEqual(yield* Effect.promise(() => promise.search("dentist")), found)
        assert.deepStrictEqual(yield* effect.search("dentist"), found)
      }
      const update = `{"id":"${visit}","patch":{"when":"10"}}`
      yield* wire("POST", "/v1/visits/update_row", { key: apiKey, body: update })
      assert.deepStrictEqual(
        (yield* everywhere(apiKey, "dentist")).hits.map(({ table }) => table),
        ["visits", "plans"]
      )
      assert.deepStrictEqual(
        (yield* everywhere(apiKey, "the  9")).hits.map(({ id }) => id),
        []
      )
      assert.deepStrictEqual(
        (yield* everywhere(apiKey, "the  10")).hits.map(({ id }) => id),
        [visit]
      )
    })
  )

  it.effect("has 20 rows at most, and tells how many there are", () =>
    Effect.gen(function* () {
      const { apiKey, token } = yield* newConnection()
      for (const [from, table] of [
        [0, "a"],
        [15, "b"]
      ] as const) {
        const rows = Array.from({ length: 15 }, (_, n) => ({ action: "add", row: { text: `word ${from + n}` } }))
        const body = JSON.stringify({ operations: rows })
        assert.strictEqual((yield* wire("POST", `/v1/${table}/batch`, { key: apiKey, body })).status, 200)
      }
      const found = yield* everywhere(apiKey, "word")
      const last = Array.from({ length: 20 }, (_, n) => `word ${29 - n}`)
      assert.deepStrictEqual(
        found.hits.map(({ snippet }) => snippet),
        last
      )
      assert.deepStrictEqual([found.matched, found.has_more], [30, true])
      assert.strictEqual(
        found.note,
        "These are the 20 of 30 rows that changed last. Add a word, or search one table with a query."
      )
      assert.deepStrictEqual(yield* done(token, "search", { search: "word" }), found as never)
      const long = { text: `${"\u0001 ".repeat(300)}short`, more: "\u0002".repeat(100) + "\u0001".repeat(300) }
      yield* store(
        apiKey,
        Array.from({ length: 20 }, () => ["long", long] as const)
      )
      const { content } = yield* callTool(token, "search", { search: "short \u0001\u0001" })
      const held = JSON.parse(content[0]!.text) as Found
      assert.isBelow(content[0]!.text.length, 21_000)
      assert.deepStrictEqual([held.matched, held.has_more], [20, true])
      assert.strictEqual((yield* everywhere(apiKey, "short \u0001\u0001")).hits.length, 20)
    })
  )

  it.effect(
    "looks into an agent's own tables only, may be read-only, and says what it looks at where it finds nothing",
    () =>
      Effect.gen(function* () {
        const person = yield* newConnection()
        yield* store(person.apiKey, [
          ["notes", { text: "a dentist" }],
          ["secret", { text: "another dentist" }]
        ])
        const confined = yield* newConnection({ decision: "allow", access: "tables", other_tables: "notes" }, person)
        const own = (yield* done(confined.token, "search", { search: "dentist" })) as unknown as Found
        assert.deepStrictEqual([own.hits.map(({ table }) => table), own.matched], [["notes"], 1])
        const nothing = (yield* done(confined.token, "search", { search: "another" })) as unknown as Found
        assert.match(nothing.note ?? "", /^No row has all of these words in its texts\./)
        const reading = yield* newConnection({ decision: "allow", access: "read" }, person)
        assert.strictEqual((yield* done(reading.token, "search", { search: "dentist" }))["matched"], 2)
        const { apiKey: stranger } = yield* newAccount
        assert.deepStrictEqual((yield* everywhere(stranger, "dentist")).hits, [])
      })
  )

  it.effect("is refused without words, and with too many characters", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      for (const [words, says] of [
        [" ", "search must have at least one word"],
        ["x".repeat(201), "search must have at most 200 characters"]
      ] as const) {
        const answer = yield* wire("GET", `/v1/_search${search({ search: words })}`, { key })
        assertProblem(answer, 400, "invalid_request")
        assert.include(answer.text, says)
        assert.include((yield* refused(token, "search", { search: words }))["detail"], `/${says}`)
      }
      assertProblem(yield* wire("GET", "/v1/_search", { key }), 400, "invalid_request")
      assertProblem(yield* wire("GET", "/v1/_search?search=a&table=t", { key }), 400, "invalid_request")
    })
  )
})

interface Listed {
  readonly tables: ReadonlyArray<{
    readonly name: string
    readonly rows: number
    readonly updated_at?: string | null
    readonly fields?: ReadonlyArray<{ readonly name: string; readonly types: object }>
    readonly more_fields?: number
  }>
}

layer(serviceLayer(), { excludeTestServices: true })("The list of tables with fields", (it) => {
  const many = Array.from({ length: 60 }, (_, n) => `f${n}`)

  it.effect("tells names, types with their rows, and the last change, over REST, MCP and both clients", () =>
    Effect.gen(function* () {
      const { apiKey: key, token } = yield* newConnection()
      const [first] = yield* store(key, [
        ["tasks", { title: "a", due: null, tags: [1], at: {}, done: false }],
        ["tasks", { title: 1.5, due: "2026-12-01" }],
        ["tasks", { title: "b" }],
        ["gone", { n: 1 }],
        ["wide", Object.fromEntries(many.map((name) => [name, 1]))]
      ])
      yield* wire("DELETE", "/v1/gone", { key, body: '{"filter":{"n":1}}' })
      const changed = yield* wire("POST", "/v1/tasks/update_row", { key, body: `{"id":"${first}","patch":{}}` })
      const fields = [
        { name: "title", types: { string: 2, number: 1 } },
        { name: "due", types: { null: 1, string: 1 } },
        { name: "tags", types: { array: 1 } },
        { name: "at", types: { object: 1 } },
        { name: "done", types: { boolean: 1 } }
      ]
      for (const _ of ["by SQL", "from memory"]) {
        const listed = jsonOf<Listed>(yield* wire("GET", "/v1/_tables?include=fields", { key }))
        const { updated_at } = jsonOf<{ row: { updated_at: string } }>(changed).row
        assert.deepStrictEqual(listed.tables.slice(0, 2), [
          { name: "gone", rows: 0, updated_at: null, fields: [], more_fields: 0 },
          { name: "tasks", rows: 3, updated_at, fields, more_fields: 0 }
        ])
        const wide = listed.tables[2]!
        assert.deepStrictEqual(
          wide.fields?.map(({ name }) => name),
          many.slice(0, 50)
        )
        assert.strictEqual(wide.more_fields, 10)
        const told = (yield* done(token, "list_tables"))["tables"] as ReadonlyArray<Record<string, unknown>>
        const types = fields.map(({ name, types }) => [name, Object.keys(types).join(", ")])
        assert.deepStrictEqual(told.slice(0, 2), [
          { name: "gone", rows: 0 },
          { name: "tasks", rows: 3, updated_at, fields: Object.fromEntries(types) }
        ])
        assert.deepStrictEqual([Object.keys(told[2]!["fields"] as object).length, told[2]!["more_fields"]], [12, 48])
        const { effect, promise } = yield* clientsOf(key)
        assert.deepStrictEqual(yield* Effect.promise(() => promise.tables({ include: "fields" })), listed.tables)
        assert.deepStrictEqual(yield* effect.describedTables, listed.tables)
        assert.deepStrictEqual(yield* effect.tables, [
          { name: "gone", rows: 0 },
          { name: "tasks", rows: 3 },
          { name: "wide", rows: 1 }
        ])
      }
      assertProblem(yield* wire("GET", "/v1/_tables?include=rows", { key }), 400, "invalid_request")
    })
  )

  it.effect(
    "holds as many fields as an agent's result has room for, and shows a confined agent its own tables alone",
    () =>
      Effect.gen(function* () {
        const person = yield* newConnection()
        const long = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}`.padEnd(190, "n"), 1]))
        yield* store(
          person.apiKey,
          Array.from({ length: 15 }, (_, n) => [`t${n}`, long] as const)
        )
        const { content } = yield* callTool(person.token, "list_tables")
        assert.isBelow(content[0]!.text.length, 22_000)
        const { tables } = JSON.parse(content[0]!.text) as {
          tables: ReadonlyArray<{ fields: object; more_fields?: number }>
        }
        assert.strictEqual(tables.length, 15)
        const told = tables.map(({ fields, more_fields = 0 }) => [Object.keys(fields).length, more_fields] as const)
        for (const [shown, left] of told) assert.strictEqual(shown + left, 12)
        assert.deepStrictEqual([told[0]?.[1], told.at(-1)?.[1]], [0, 12])
        const confined = yield* newConnection({ decision: "allow", access: "tables", other_tables: "t3" }, person)
        const own = (yield* done(confined.token, "list_tables")) as unknown as Listed
        assert.deepStrictEqual(
          own.tables.map(({ name }) => name),
          ["t3"]
        )
      })
  )
})
