import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, search, wire } from "./Wire.ts"
import { addAll, find, type Rows } from "./FilterCalls.ts"

const operations = ["query", "count", "delete", "update_where", "batch"] as const

/** An operation with this filter, of those that take one. */
const filtered = (key: string, operation: (typeof operations)[number], filter: string) => {
  switch (operation) {
    case "query":
      return wire("GET", `/v1/t${search({ filter })}`, { key })
    case "count":
      return wire("GET", `/v1/t/count${search({ filter })}`, { key })
    case "delete":
      return wire("DELETE", "/v1/t", { key, body: `{"filter":${filter}}` })
    case "update_where":
      return wire("POST", "/v1/t/update_where", { key, body: `{"filter":${filter},"patch":{}}` })
    case "batch":
      return wire("POST", "/v1/t/batch", { key, body: `{"operations":[{"action":"delete","filter":${filter}}]}` })
  }
}

const numbers = ({ rows }: Rows): ReadonlyArray<unknown> => rows.map(({ n }) => n)

// Each row's `n` is its place in this list.
const values = [
  "1",
  "1.0",
  "10e-1",
  '"1"',
  "true",
  '"true"',
  "null",
  '"null"',
  "[1]",
  '{"a":1}',
  '""',
  "0",
  "-0",
  "0.0",
  "false",
  "12345678901234567890",
  "12345678901234567891",
  "1e400",
  "1e401",
  '"a"',
  '"A"',
  String.raw`"\u0061"`,
  '"\u00e9"',
  String.raw`"e\u0301"`
]

const matches: ReadonlyArray<readonly [value: string, places: ReadonlyArray<number>]> = [
  ["1", [0, 1, 2]],
  ["1.00", [0, 1, 2]],
  ['"1"', [3]],
  ["true", [4]],
  ['"true"', [5]],
  ["null", [6]],
  ['"null"', [7]],
  ['""', [10]],
  ["0", [11, 12, 13]],
  ["-0.0", [11, 12, 13]],
  ["false", [14]],
  ["12345678901234567890", [15]],
  ["12345678901234567891.0", [16]],
  ["12345678901234567889", []],
  ["1e400", [17]],
  ["10e400", [18]],
  ['"a"', [19, 21]],
  ['"A"', [20]],
  ['"\u00e9"', [22]],
  [String.raw`"\u00e9"`, [22]],
  ['"e\u0301"', [23]],
  ['"missing"', []]
]

layer(serviceLayer())("An equality filter", (it) => {
  it.effect("compares by type and value, in query, count, delete and update_where alike", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = [...values.map((value, n) => `{"n":${n},"f":${value}}`), `{"n":${values.length}}`]
      yield* addAll(key, rows)
      for (const [value, expected] of matches) {
        const filter = `{"f":${value}}`
        assert.deepStrictEqual(numbers(yield* find(key, { filter })), expected, filter)
        const count = yield* wire("GET", `/v1/t/count${search({ filter })}`, { key })
        assert.strictEqual(count.text, `{"count":${expected.length}}`)
        const body = `{"filter":${filter},"patch":{"seen":1},"allowMultiple":true}`
        const updated = yield* wire("POST", "/v1/t/update_where", { key, body })
        assert.strictEqual(jsonOf(updated)["updated"], expected.length, filter)
      }
      const gone = new Set<number>()
      for (const [value, expected] of matches) {
        const left = expected.filter((place) => !gone.has(place))
        for (const place of expected) gone.add(place)
        const deleted = yield* wire("DELETE", "/v1/t", { key, body: `{"filter":{"f":${value}}}` })
        assert.strictEqual(jsonOf(deleted)["deleted"], left.length, value)
      }
      // Left are the two containers and the row without the field.
      assert.deepStrictEqual(numbers(yield* find(key, {})), [8, 9, values.length])
    })
  )

  it.effect("needs every named field, and looks at top-level fields only", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(key, ['{"n":0,"a":1,"b":2}', '{"n":1,"a":1,"b":3}', '{"n":2,"a":1}', '{"n":3,"x":{"a":1,"b":2}}'])
      const cases: Record<string, ReadonlyArray<number>> = {
        '{"a":1,"b":2}': [0],
        '{"b":2,"a":1}': [0],
        '{"a":1}': [0, 1, 2],
        '{"a":1,"b":null}': [],
        '{"x.a":1}': [],
        "{}": [0, 1, 2, 3],
        " { } ": [0, 1, 2, 3]
      }
      for (const [filter, expected] of Object.entries(cases)) {
        assert.deepStrictEqual(numbers(yield* find(key, { filter })), expected, filter)
      }
    })
  )

  it.effect("may name the system fields, alone or with others, and never fails for a value they cannot have", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(key, ['{"n":0}', '{"n":1}'])
      const [first, second] = (yield* find(key, {})).rows
      yield* wire("POST", "/v1/t/update_row", { key, body: JSON.stringify({ id: second!["id"], patch: { m: 1 } }) })
      const third = (yield* find(key, { filter: '{"m":1}' })).rows[0]!
      const cases: ReadonlyArray<readonly [unknown, ReadonlyArray<number>]> = [
        [{ id: first!["id"] }, [0]],
        [{ id: first!["id"], n: 1 }, []],
        [{ id: first!["id"], created_at: first!["created_at"] }, [0]],
        [{ updated_at: third["updated_at"] }, [1]],
        [{ id: String(first!["id"]).toUpperCase() }, []],
        [{ id: "x" }, []],
        [{ id: 1 }, []],
        [{ id: null }, []],
        [{ created_at: "yesterday" }, []],
        [{ created_at: String(first!["created_at"]).replace("Z", "+00:00") }, []],
        [{ created_at: "+275760-09-13T00:00:00.001Z" }, []],
        [{ created_at: "-000001-01-01T00:00:00.000Z" }, []],
        [{ updated_at: true, n: 0 }, []]
      ]
      for (const [filter, expected] of cases) {
        const text = JSON.stringify(filter)
        assert.deepStrictEqual(numbers(yield* find(key, { filter: text })), expected, text)
        const count = yield* wire("GET", `/v1/t/count${search({ filter: text })}`, { key })
        assert.deepInclude(jsonOf<object>(count), { count: expected.length }, text)
        if (expected.length > 0) continue
        const deleted = yield* wire("DELETE", "/v1/t", { key, body: `{"filter":${text}}` })
        assert.deepInclude(jsonOf<object>(deleted), { deleted: 0 }, text)
      }
    })
  )

  it.effect("tells long strings apart that begin alike", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const alike = ["a", "b"].map((end) => JSON.stringify("x".repeat(1000) + end))
      yield* addAll(
        key,
        alike.map((text, n) => `{"n":${n},"text":${text}}`)
      )
      const filter = `{"text":${alike[1]}}`
      assert.deepStrictEqual(numbers(yield* find(key, { filter })), [1])
      assert.strictEqual((yield* filtered(key, "count", filter)).text, '{"count":1}')
      assert.include((yield* filtered(key, "delete", filter)).text, '{"deleted":1,')
      assert.deepStrictEqual(numbers(yield* find(key, {})), [0])
    })
  )

  it.effect("compares at most 50 fields, wherever it stands", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const filterOf = (count: number) => `{${Array.from({ length: count }, (_, n) => `"f${n}":1`).join()}}`
      assert.strictEqual((yield* filtered(key, "count", filterOf(50))).status, 200)
      for (const operation of operations) {
        const problem = assertProblem(yield* filtered(key, operation, filterOf(51)), 400, "invalid_request")
        assert.match(pathsOf(problem)[0] ?? "", /^(filter|\/filter|\/operations\/0\/filter)$/)
        assert.include(JSON.stringify(problem), "makes 51 comparisons, and the limit is 50")
      }
    })
  )

  it.effect("has at most 16 KB, wherever it stands", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const filterOf = (bytes: number) => `{"f":"${"x".repeat(bytes - 8)}"}`
      assert.strictEqual((yield* filtered(key, "delete", filterOf(16_384))).status, 200)
      for (const operation of operations) {
        // A query string has less room than a body.
        if (operation === "query" || operation === "count") continue
        const problem = assertProblem(yield* filtered(key, operation, filterOf(16_385)), 400, "invalid_request")
        assert.include(JSON.stringify(problem), "has 16385 bytes, and the limit is 16384")
      }
    })
  )
})

layer(serviceLayer())("An id with NUL", (it) => {
  it.effect("matches no row, in a query as in a delete", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* wire("POST", "/v1/t", { key, body: "{}" })
      const filter = String.raw`{"id":"a\u0000"}`
      const queried = yield* wire("GET", `/v1/t${search({ filter })}`, { key })
      assert.strictEqual(queried.text, '{"rows":[],"has_more":false}')
      const deleted = yield* wire("DELETE", "/v1/t", { key, body: `{"filter":${filter}}` })
      assert.strictEqual(deleted.text, '{"deleted":0}')
    })
  )
})
