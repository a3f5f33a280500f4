import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { jsonOf, search, wire } from "./Wire.ts"

interface Rows {
  readonly rows: Array<{ readonly id: string; readonly n: number }>
  readonly has_more: boolean
}

const addAll = Effect.fnUntraced(function* (key: string, rows: ReadonlyArray<string>) {
  const operations = rows.map((row) => `{"action":"add","row":${row}}`)
  const answer = yield* wire("POST", "/v1/t/batch", { key, body: `{"operations":[${operations.join()}]}` })
  assert.strictEqual(answer.status, 200, answer.text)
})

const query = (key: string, parameters: Record<string, string> = {}) =>
  Effect.map(wire("GET", `/v1/t${search(parameters)}`, { key }), (answer) => {
    assert.strictEqual(answer.status, 200, answer.text)
    return jsonOf<Rows>(answer)
  })

const places = ({ rows }: Rows): ReadonlyArray<number> => rows.map(({ n }) => n)

/** Groups of equal values in ascending order. Null and missing fields come last in both directions. */
const order: ReadonlyArray<ReadonlyArray<string>> = [
  ["-1e401"],
  ["-1e400", "-10e399"],
  ["-12345678901234567891"],
  ["-12345678901234567890"],
  ["-2"],
  ["-1.5"],
  ["-1e-400"],
  ["0", "-0", "0.00", "0e9"],
  ["1e-401"],
  ["1e-400"],
  ["0.1"],
  ["0.10000000000000000001"],
  ["1", "1.0", "10e-1"],
  ["9"],
  ["10"],
  ["12345678901234567890"],
  ["12345678901234567891"],
  ["1e400"],
  ['""'],
  [String.raw`"\u0000"`],
  [String.raw`"\u0000a"`],
  ['" "'],
  ['"10"'],
  ['"9"'],
  ['"A"'],
  ['"B"'],
  ['"_"'],
  ['"a"', String.raw`"\u0061"`],
  ['"a b"'],
  ['"aa"'],
  ['"ab"'],
  ['"b"'],
  ['"\u00e9"'],
  ['"\u65e5"'],
  [String.raw`"\ud7ff"`],
  [String.raw`"\ue000"`],
  [String.raw`"\uffff"`],
  ['"\u{10000}"', String.raw`"\ud800\udc00"`],
  ['"\u{10ffff}"'],
  ["false"],
  ["true"],
  ["[]", "{}", "[1]", '{"a":1}', "[[]]"],
  ["null"]
]

layer(serviceLayer())("Sorting", (it) => {
  it.effect("P18 follows one order over all types in both directions, ties in insertion order", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      // Rows go in with equal values apart from each other, and in no order.
      const groups = [...order, ["missing"]]
      const entries = groups.flatMap((group, rank) => group.map((value, tie) => ({ rank, tie, value })))
      const shuffled = entries.toSorted((a, b) => a.tie - b.tie || ((a.rank * 37) % 101) - ((b.rank * 37) % 101))
      yield* addAll(
        key,
        shuffled.map(({ rank, value }, n) => `{"n":${n},"rank":${rank}${value === "missing" ? "" : `,"f":${value}`}}`)
      )
      const expected = (descending: boolean) => {
        const last = order.length - 1
        const ranks = groups.map((_, rank) => rank)
        const sorted = descending ? [...ranks.slice(0, last).toReversed(), last, last + 1] : ranks
        return sorted.flatMap((rank) => shuffled.flatMap((entry, n) => (entry.rank === rank ? [n] : [])))
      }
      assert.deepStrictEqual(places(yield* query(key, { sort: "f", limit: "1000" })), expected(false))
      assert.deepStrictEqual(places(yield* query(key, { sort: "-f", limit: "1000" })), expected(true))
    })
  )

  it.effect("by long texts that begin alike looks at all of them", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const long = "x".repeat(5000)
      const texts = [`${long}b`, long, `${long}a`, "x", `y${long}`]
      yield* addAll(
        key,
        texts.map((text, n) => `{"n":${n},"f":"${text}"}`)
      )
      assert.deepStrictEqual(places(yield* query(key, { sort: "f" })), [3, 1, 2, 0, 4])
      assert.deepStrictEqual(places(yield* query(key, { sort: "-f" })), [4, 0, 2, 1, 3])
    })
  )

  it.effect("by system fields and by fields that no row has keeps insertion order among ties", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const n of [0, 1, 2]) yield* wire("POST", "/v1/t", { key, body: `{"n":${n}}` })
      const { rows } = yield* query(key)
      yield* wire("POST", "/v1/t/update_row", { key, body: JSON.stringify({ id: rows[0]!.id, patch: { m: 1 } }) })
      const cases: Record<string, ReadonlyArray<number>> = {
        nothing: [0, 1, 2],
        "-nothing": [0, 1, 2],
        updated_at: [1, 2, 0],
        "-updated_at": [0, 2, 1],
        id: [0, 1, 2],
        "-id": [2, 1, 0]
      }
      for (const [sort, expected] of Object.entries(cases)) {
        assert.deepStrictEqual(places(yield* query(key, { sort })), expected, sort)
      }
      const created = rows.map(({ id }) => id)
      const byCreation = (yield* query(key, { sort: "created_at" })).rows.map(({ id }) => id)
      assert.sameOrderedMembers(byCreation, created)
    })
  )

  it.effect("puts the last inserted first among rows of one moment, where the newest come first", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(
        key,
        [0, 1, 2, 3].map((n) => `{"n":${n},"all":1}`)
      )
      const body = '{"filter":{"all":1},"patch":{"m":1},"allowMultiple":true}'
      assert.strictEqual((yield* wire("POST", "/v1/t/update_where", { key, body })).status, 200)
      const moments = (yield* query(key)).rows as unknown as ReadonlyArray<{ created_at: string; updated_at: string }>
      for (const field of ["created_at", "updated_at"] as const) {
        assert.strictEqual(new Set(moments.map((row) => row[field])).size, 1, "the rows are of one moment")
        assert.deepStrictEqual(places(yield* query(key, { sort: field })), [0, 1, 2, 3])
        assert.deepStrictEqual(places(yield* query(key, { sort: `-${field}` })), [3, 2, 1, 0])
      }
      assert.deepStrictEqual(places(yield* query(key, { sort: "-all" })), [0, 1, 2, 3])
    })
  )

  it.effect("a sort applies before the limit, and a filter before both", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(
        key,
        [3, 1, 2, 9, 8].map((n) => `{"n":${n},"small":${n < 5}}`)
      )
      const parameters = { sort: "-n", limit: "2", filter: '{"small":true}' }
      const found = yield* query(key, parameters)
      assert.deepStrictEqual([places(found), found.has_more], [[3, 2], true])
      const all = yield* query(key, { ...parameters, limit: "3" })
      assert.deepStrictEqual([places(all), all.has_more], [[3, 2, 1], false])
    })
  )

  it.effect("without a limit 100 rows come, with one up to 1000, and has_more tells of others", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = Array.from({ length: 101 }, (_, n) => `{"n":${n}}`)
      yield* addAll(key, rows.slice(0, 100))
      const shape = ({ has_more, rows }: Rows) => [rows.length, has_more]
      assert.deepStrictEqual(shape(yield* query(key)), [100, false])
      yield* addAll(key, rows.slice(100))
      const limits: Record<string, ReadonlyArray<unknown>> = {
        "": [100, true],
        "1": [1, true],
        "100": [100, true],
        "101": [101, false],
        "1000": [101, false]
      }
      for (const [limit, expected] of Object.entries(limits)) {
        assert.deepStrictEqual(shape(yield* query(key, limit === "" ? {} : { limit })), [...expected], limit)
      }
      assert.deepStrictEqual(
        places(yield* query(key)),
        Array.from({ length: 100 }, (_, n) => n)
      )
    })
  )

  it.effect("a restored row keeps its place in insertion order, also among ties", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(
        key,
        [0, 1, 2].map((n) => `{"n":${n},"tie":1}`)
      )
      const { id } = (yield* query(key)).rows[1]!
      yield* wire("DELETE", "/v1/t", { key, body: `{"filter":{"id":"${id}"}}` })
      yield* addAll(key, ['{"n":3,"tie":1}'])
      assert.deepStrictEqual(places(yield* query(key)), [0, 2, 3])
      const restored = yield* wire("POST", "/v1/t/restore", { key, body: `{"id":"${id}","version":1}` })
      assert.strictEqual(restored.status, 200)
      for (const parameters of [{}, { sort: "tie" }, { sort: "-tie" }]) {
        assert.deepStrictEqual(places(yield* query(key, parameters)), [0, 1, 2, 3])
      }
    })
  )

  it.effect("a table that was never written reads as an empty one", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const answers: ReadonlyArray<readonly [string, string, string | undefined, string]> = [
        ["GET", "/v1/t", undefined, '{"rows":[],"has_more":false}'],
        ["GET", "/v1/t?sort=-a&limit=1&filter=%7B%22a%22:1%7D", undefined, '{"rows":[],"has_more":false}'],
        ["GET", "/v1/t/count", undefined, '{"count":0}'],
        ["GET", "/v1/t/versions?id=x", undefined, '{"versions":[]}'],
        ["DELETE", "/v1/t", '{"filter":{"a":1}}', '{"deleted":0}'],
        ["POST", "/v1/t/update_where", '{"filter":{"a":1},"patch":{},"allowMultiple":true}', '{"updated":0,"rows":[]}'],
        ["GET", "/v1/_tables", undefined, '{"tables":[]}']
      ]
      for (const [method, path, body, text] of answers) {
        assert.strictEqual((yield* wire(method, path, { key, body })).text, text, path)
      }
    })
  )

  it.effect("tables are listed by name, with live rows or with versions to restore", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const name of ["b", "a", "_c".slice(1), "B", "a-b", "a_b", "aa"]) {
        yield* wire("POST", `/v1/${name}`, { key, body: '{"x":1}' })
      }
      yield* wire("DELETE", "/v1/b", { key, body: '{"filter":{"x":1}}' })
      const { tables } = jsonOf<{ tables: Array<{ name: string; rows: number }> }>(
        yield* wire("GET", "/v1/_tables", { key })
      )
      assert.deepStrictEqual(
        tables.map(({ name, rows }) => `${name} ${rows}`),
        ["B 1", "a 1", "a-b 1", "a_b 1", "aa 1", "b 0", "c 1"]
      )
      const exported = yield* wire("GET", "/v1/_export", { key })
      assert.deepStrictEqual(Object.keys(jsonOf<{ tables: object }>(exported).tables), [
        "B",
        "a",
        "a-b",
        "a_b",
        "aa",
        "c"
      ])
    })
  )
})
