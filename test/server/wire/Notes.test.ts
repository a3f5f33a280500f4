import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callTool, done, newConnection } from "../../support/Mcp.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, search, wire } from "./Wire.ts"

const row = '{"category":"food","amount":4}'
const near = 'No row has a field "Category"; did you mean "category"?'

interface Noted {
  readonly note?: string
}

layer(serviceLayer(), { excludeTestServices: true })("Where nothing matches, a note", (it) => {
  it.effect("says why in query, count, delete and update_where, over REST and MCP, from memory and by SQL", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { token } = yield* newConnection()
      yield* wire("POST", "/v1/expenses", { key, body: row })
      yield* done(token, "add", { table: "expenses", row: JSON.parse(row) as object })
      const filter = '{"Category":"food"}'
      for (let n = 0; n < 2; n++) {
        const reads = [
          `/v1/expenses${search({ filter })}`,
          `/v1/expenses/count${search({ filter })}`,
          `/v1/expenses/count${search({ filter, sum: "amount" })}`
        ]
        for (const path of reads) assert.strictEqual(jsonOf<Noted>(yield* wire("GET", path, { key })).note, near, path)
        const deleted = yield* wire("DELETE", "/v1/expenses", { key, body: `{"filter":${filter}}` })
        assert.strictEqual(deleted.text, `{"deleted":0,"note":${JSON.stringify(near)}}`)
        const update = `{"filter":${filter},"patch":{}}`
        const refused = yield* wire("POST", "/v1/expenses/update_where", { key, body: update })
        assertProblem(refused, 404, "row_not_found")
        assert.strictEqual(jsonOf<Noted>(refused).note, near)
        const several = `{"filter":${filter},"patch":{},"allowMultiple":true}`
        const updated = yield* wire("POST", "/v1/expenses/update_where", { key, body: several })
        assert.deepInclude(jsonOf<object>(updated), { updated: 0, note: near })
        const calls: ReadonlyArray<readonly [string, object]> = [
          ["query", {}],
          ["count", {}],
          ["count", { sum: "amount" }],
          ["delete", {}],
          ["delete", { dryRun: true }],
          ["update_where", { patch: {} }],
          ["update_where", { patch: {}, allowMultiple: true, dryRun: true }]
        ]
        for (const [tool, args] of calls) {
          const { content } = yield* callTool(token, tool, {
            table: "expenses",
            filter: JSON.parse(filter) as object,
            ...args
          })
          assert.strictEqual((JSON.parse(content[0]!.text) as Noted).note, near, tool)
        }
      }
    })
  )

  it.effect("is in the results of a batch, and in its refusal, over REST and MCP", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { token } = yield* newConnection()
      yield* wire("POST", "/v1/expenses", { key, body: row })
      yield* done(token, "add", { table: "expenses", row: JSON.parse(row) as object })
      const filter = { Category: "food" }
      const operations = [
        { action: "delete", filter },
        { action: "update_where", filter, patch: {}, allowMultiple: true },
        { action: "update_where", filter: { category: "food" }, patch: { note: 'a "note":' } },
        { action: "delete", filter: { category: 4 } },
        { action: "delete", filter: { category: "rent" } },
        { action: "update_where", filter, patch: { n: { $inc: 1 } }, allowMultiple: true }
      ]
      const other = '"category" holds strings, not numbers.'
      const notesIn = (answer: unknown) =>
        (answer as { results: ReadonlyArray<{ readonly result: Noted }> }).results.map(({ result }) => result.note)
      const body = JSON.stringify({ operations })
      const answer = yield* wire("POST", "/v1/expenses/batch", { key, body, headers: { "idempotency-key": "k" } })
      const notes = notesIn(jsonOf(answer))
      assert.deepStrictEqual(notes.slice(0, 5), [near, near, undefined, other, undefined])
      assert.match(notes[5] ?? "", /\$inc/)
      const again = yield* wire("POST", "/v1/expenses/batch", { key, body, headers: { "idempotency-key": "k" } })
      assert.strictEqual(again.text, answer.text)
      for (const args of [{}, { returnRows: true }, { dryRun: true }]) {
        assert.deepStrictEqual(notesIn(yield* done(token, "batch", { table: "expenses", operations, ...args })), notes)
      }
      const failing = [...operations, { action: "update_where", filter, patch: {} }]
      const refused = yield* wire("POST", "/v1/expenses/batch", { key, body: JSON.stringify({ operations: failing }) })
      assertProblem(refused, 404, "row_not_found")
      assert.deepInclude(jsonOf<object>(refused), { note: near, operation: 6 })
      const { content } = yield* callTool(token, "batch", { table: "expenses", operations: failing })
      assert.deepInclude(JSON.parse(content[0]!.text) as object, { note: near, operation: 6 })
    })
  )

  it.effect("names near tables, and is not there where something is found or nothing is stored", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      assert.strictEqual((yield* wire("GET", "/v1/expences", { key })).text, '{"rows":[],"has_more":false}')
      yield* wire("POST", "/v1/expenses", { key, body: row })
      const empty = jsonOf<object>(yield* wire("GET", "/v1/expences/count", { key }))
      assert.deepStrictEqual(empty, { count: 0, note: 'No table "expences" has rows; did you mean "expenses"?' })
      assert.notProperty(jsonOf<Noted>(yield* wire("GET", "/v1/expenses", { key })), "note")
      const other = search({ filter: '{"category":"rent"}' })
      assert.strictEqual((yield* wire("GET", `/v1/expenses/count${other}`, { key })).text, '{"count":0}')
    })
  )

  it.effect("names near tables in lists of a table's changes and deleted rows, on their first page alone", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* wire("POST", "/v1/expenses", { key, body: row })
      const note = 'No table "expences" has rows; did you mean "expenses"?'
      const noteAt = (path: string) =>
        Effect.map(wire("GET", path, { key }), (answer) => {
          assert.strictEqual(answer.status, 200, answer.text)
          return jsonOf<Noted>(answer).note
        })
      for (const path of [
        "/v1/_changes?table=expences",
        "/v1/_changes?since=0&table=expences",
        "/v1/expences/deleted"
      ]) {
        assert.strictEqual(yield* noteAt(path), note, path)
      }
      for (const path of [
        "/v1/_changes?table=expenses",
        "/v1/_changes?since=1&table=expences",
        "/v1/expenses/deleted"
      ]) {
        assert.isUndefined(yield* noteAt(path), path)
      }
    })
  )

  it.effect("tells of fields to read, to group by and to add up that no row has, and of those without a number", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { token } = yield* newConnection()
      yield* wire("POST", "/v1/expenses", { key, body: row })
      yield* done(token, "add", { table: "expenses", row: JSON.parse(row) as object })
      const rest = (path: string, query: Record<string, string>) =>
        Effect.map(wire("GET", `/v1/expenses${path}${search(query)}`, { key }), (answer) => jsonOf<Noted>(answer).note)
      const tool = (name: string, args: object) =>
        Effect.map(done(token, name, { table: "expenses", ...args }), ({ note }) => note)
      const amount = 'No row has a field "amout"; did you mean "amount"?'
      const words = '"category" holds strings, not numbers.'
      const told = [
        [
          yield* rest("", { fields: "Category,amount" }),
          yield* tool("query", { fields: ["amount", "Category"] }),
          near
        ],
        [yield* rest("/count", { by: "Category" }), yield* tool("count", { by: "Category" }), near],
        [yield* rest("/count", { sum: "amout" }), yield* tool("count", { by: "category", sum: "amout" }), amount],
        [yield* rest("/count", { sum: "category" }), yield* tool("count", { avg: "category" }), words],
        [yield* rest("", { fields: "category,id" }), yield* tool("query", { fields: ["*"] }), undefined],
        [yield* rest("/count", { sum: "amount" }), yield* tool("count", { by: "category", sum: "amount" }), undefined]
      ]
      for (const [overRest, overMcp, note] of told) assert.deepStrictEqual([overRest, overMcp], [note, note])
      const table = 'No table "expences" has rows; did you mean "expenses"?'
      assert.strictEqual(yield* tool("versions", { table: "expences" }), table)
      assert.strictEqual(yield* tool("versions", { table: "expences", deleted: true }), table)
      assert.isUndefined(yield* tool("versions", { deleted: true }))
    })
  )

  it.effect("tells of a sort by a field that no row has, and refuses one that is spelled as in other languages", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { token } = yield* newConnection()
      yield* wire("POST", "/v1/expenses", { key, body: row })
      yield* done(token, "add", { table: "expenses", row: JSON.parse(row) as object })
      const words = 'No row has a field "Amount"; did you mean "amount"? The order is that of insertion.'
      assert.strictEqual(
        jsonOf<Noted>(yield* wire("GET", `/v1/expenses${search({ sort: "-Amount" })}`, { key })).note,
        words
      )
      assert.strictEqual((yield* done(token, "query", { table: "expenses", sort: "-Amount" }))["note"], words)
      assert.notProperty(
        jsonOf<Noted>(yield* wire("GET", `/v1/expenses${search({ sort: "-amount" })}`, { key })),
        "note"
      )
      for (const sort of ["amount desc", "amount:desc", "-amount desc", "amount, DESC", "amount: descending"]) {
        const answer = yield* wire("GET", `/v1/expenses${search({ sort })}`, { key })
        assertProblem(answer, 400, "invalid_request")
        assert.include(answer.text, String.raw`use \"-amount\"`, sort)
      }
      for (const sort of ["", " "]) {
        assertProblem(yield* wire("GET", `/v1/expenses${search({ sort })}`, { key }), 400, "invalid_request")
      }
      assert.strictEqual((yield* wire("GET", `/v1/expenses${search({ sort: "first name" })}`, { key })).status, 200)
    })
  )
})
