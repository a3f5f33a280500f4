import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assertProblem, pathsOf, search, wire } from "../server/wire/Wire.ts"
import { newAccount, serviceLayer } from "../support/TestService.ts"
import { add, addAll, countOf, find, post, rowsOf } from "./Calls.ts"

const unpaired = [
  String.raw`{"t":"\ud83d"}`,
  String.raw`{"t":"\ude00\ud83d"}`,
  String.raw`{"t":"\ude00"}`,
  String.raw`{"t":"a\udbffz"}`,
  String.raw`{"t":"\ud83d\ud83d\ude00"}`,
  String.raw`{"t":"\uD83D"}`,
  String.raw`{"t":"\u0000\ud800\uffff"}`
]

const numbersOf = (rows: ReadonlyArray<{ readonly [field: string]: unknown }>) => rows.map((row) => row["n"])

layer(serviceLayer(), { excludeTestServices: true })("Values that other stores got wrong:", (it) => {
  // https://github.com/kodustech/kodus-ai/pull/1683
  it.effect("C07 stores unpaired surrogates exactly, in values, and finds them exactly", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const row of unpaired) yield* add(key, "t", row)
      const all = yield* find(key, "t")
      for (const row of unpaired) {
        assert.include(all.text, row.slice(1))
        const found = yield* find(key, "t", { filter: row })
        assert.include(found.text, row.slice(1))
        // Only the two spellings of one lone surrogate are equal.
        const spellings = row.toLowerCase() === unpaired[0] ? 2 : 1
        assert.lengthOf(yield* rowsOf(key, "t", { filter: row }), spellings, row)
      }
    })
  )

  it.effect("C07 stores unpaired surrogates exactly, in names, at any depth and in natural keys", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const row = String.raw`{"\ud83d":1,"in":{"\udfff":["\ud800"]}}`
      const added = yield* add(key, "t", row)
      assert.isTrue(added.text.endsWith(row.slice(1)), added.text)
      const found = yield* find(key, "t", { filter: String.raw`{"\ud83d":1}`, sort: "in" })
      assert.include(found.text, added.text)
      assert.lengthOf(yield* rowsOf(key, "t", { filter: String.raw`{"\ude00":1}` }), 0)
      const upsert = String.raw`{"key":"\ud83d","row":{"\ud83d":"\ude00"}}`
      assert.include((yield* post(key, "t/upsert", upsert)).text, '"created":true')
      assert.include((yield* post(key, "t/upsert", upsert)).text, '"created":false')
    })
  )

  it.effect("C07 takes a pair for one character, whether raw or escaped", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const spellings = ['{"t":"😀"}', String.raw`{"t":"\ud83d\ude00"}`, String.raw`{"t":"\uD83D\uDE00"}`]
      for (const row of spellings) yield* add(key, "t", row)
      for (const row of unpaired) yield* add(key, "t", row)
      for (const filter of spellings) {
        const found = yield* find(key, "t", { filter })
        for (const row of spellings) assert.include(found.text, row.slice(1))
        assert.lengthOf(yield* rowsOf(key, "t", { filter }), spellings.length)
      }
    })
  )

  // https://github.com/PostgREST/postgrest/issues/1708
  it.effect("C10 P18 sorts numbers as numbers, before strings, with null and missing last both ways", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = ['{"n":9}', '{"n":10}', '{"n":88}', '{"n":"9"}', '{"n":-1}', '{"n":1.5}', '{"n":null}', "{}"]
      for (const row of rows) yield* add(key, "t", row)
      assert.deepStrictEqual(numbersOf(yield* rowsOf(key, "t", { sort: "n" })), [
        -1,
        1.5,
        9,
        10,
        88,
        "9",
        null,
        undefined
      ])
      assert.deepStrictEqual(numbersOf(yield* rowsOf(key, "t", { sort: "-n" })), [
        "9",
        88,
        10,
        9,
        1.5,
        -1,
        null,
        undefined
      ])
    })
  )

  it.effect("C10 P18 sorts and compares numbers by value at any size and spelling", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const ascending = [
        "-1e400",
        "-10",
        "-9",
        "-1E-400",
        "0",
        "1e-400",
        "0.1",
        "2",
        "11",
        "100",
        "12345678901234567890",
        "12345678901234567891",
        "1e400"
      ]
      const shuffled = ascending.map((_, place) => ascending[(place * 5) % ascending.length]!)
      yield* addAll(
        key,
        "t",
        shuffled.map((n) => `{"n":${n},"place":${ascending.indexOf(n)}}`)
      )
      const places = (yield* rowsOf(key, "t", { sort: "n" })).map((row) => row["place"])
      assert.deepStrictEqual(
        places,
        ascending.map((_, place) => place)
      )
      const equal: ReadonlyArray<readonly [filter: string, place: number]> = [
        ["2.0", 7],
        ["0.2e1", 7],
        ["-0.0", 4],
        ["10e-2", 6],
        ["1.0e2", 9],
        ["12345678901234567890.0", 10],
        ["0.1e401", 12]
      ]
      for (const [n, place] of equal) {
        const found = yield* rowsOf(key, "t", { filter: `{"n":${n}}` })
        assert.deepStrictEqual(
          found.map((row) => row["place"]),
          [place],
          n
        )
      }
    })
  )

  it.effect("C10 never takes a number for a string, whether spelled 9 or 9.0", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(key, "t", ['{"n":9}', '{"n":"9"}', '{"n":"9.0"}', '{"n":true}', '{"n":null}', "{}"])
      const cases: Record<string, ReadonlyArray<unknown>> = {
        '{"n":9}': [9],
        '{"n":9.0}': [9],
        '{"n":"9"}': ["9"],
        '{"n":"9.0"}': ["9.0"],
        '{"n":"true"}': [],
        '{"n":"null"}': [],
        '{"n":""}': []
      }
      for (const [filter, expected] of Object.entries(cases)) {
        assert.deepStrictEqual(numbersOf(yield* rowsOf(key, "t", { filter })), expected, filter)
      }
    })
  )

  // https://github.com/Kinto/kinto/issues/813, https://github.com/Kinto/kinto/issues/1194
  it.effect("C11 filters and sorts a field of mixed types without casting", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const values = ["12", '""', "[1]", "{}", "true", "null", '"12"', '"2026-01-01"']
      yield* addAll(key, "t", [...values.map((value) => `{"age":${value}}`), "{}"])
      for (const value of values) {
        const filter = `{"age":${value}}`
        const answer = yield* find(key, "t", { filter })
        if (value === "[1]" || value === "{}") {
          assert.deepStrictEqual(pathsOf(assertProblem(answer, 400, "invalid_request")), ["filter/age"])
        } else {
          assert.lengthOf(yield* rowsOf(key, "t", { filter }), 1, filter)
          assert.include(answer.text, filter.slice(1))
        }
      }
      const ages = (sort: string) => Effect.map(rowsOf(key, "t", { sort }), (rows) => rows.map((row) => row["age"]))
      assert.deepStrictEqual(yield* ages("age"), [12, "", "12", "2026-01-01", true, [1], {}, null, undefined])
      assert.deepStrictEqual(yield* ages("-age"), [[1], {}, true, "2026-01-01", "12", "", 12, null, undefined])
    })
  )

  it.effect("C11 refuses a filter that is no object, everywhere that a filter may stand", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* add(key, "t", '{"age":12}')
      const cases: ReadonlyArray<readonly [filter: string, code: string]> = [
        ["", "invalid_json"],
        [" ", "invalid_json"],
        ['""', "invalid_request"],
        ["0", "invalid_request"],
        ["null", "invalid_request"],
        ["[]", "invalid_request"],
        ['[{"age":12}]', "invalid_request"],
        ['{"age":[]}', "invalid_request"],
        ['{"age":{"$gt":0}}', "invalid_request"],
        ["age", "invalid_json"]
      ]
      for (const [filter, code] of cases) {
        for (const operation of ["", "/count"]) {
          assertProblem(yield* wire("GET", `/v1/t${operation}${search({ filter })}`, { key }), 400, code)
        }
        assertProblem(yield* wire("DELETE", `/v1/t${search({ filter })}`, { key }), 400, code)
        if (code === "invalid_json") continue
        assertProblem(yield* wire("DELETE", "/v1/t", { key, body: `{"filter":${filter}}` }), 400, code)
        assertProblem(yield* post(key, "t/update_where", `{"filter":${filter},"patch":{}}`), 400, code)
      }
      assert.strictEqual(yield* countOf(key, "t"), 1)
    })
  )
})
