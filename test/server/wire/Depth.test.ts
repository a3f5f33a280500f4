import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, wire } from "./Wire.ts"
import { cpuTime } from "../../support/CpuTime.ts"

const objects = (levels: number) => '{"a":'.repeat(levels) + "1" + "}".repeat(levels)
const arrays = (levels: number) => "[".repeat(levels) + "]".repeat(levels)
const unclosed = (levels: number) => "[".repeat(levels)
const unclosedObjects = (levels: number) => '{"a":'.repeat(levels)

/** How deep the bodies of most operations may be; the others are too long before. */
const deepest = 30_000

type Place = readonly [
  what: string,
  send: (key: string, deep: string) => readonly [string, string, string?],
  deepest?: number
]

const places: ReadonlyArray<Place> = [
  ["a row", (_, deep) => ["POST", "/v1/t", `{"v":${deep}}`]],
  ["a row to upsert", (_, deep) => ["POST", "/v1/t/upsert", `{"key":"k","row":{"k":1,"v":${deep}}}`]],
  ["a natural key", (_, deep) => ["POST", "/v1/t/upsert", `{"key":${deep},"row":{"k":1}}`]],
  ["a patch", (_, deep) => ["POST", "/v1/t/update_row", `{"id":"x","patch":{"v":${deep}}}`]],
  ["an id", (_, deep) => ["POST", "/v1/t/update_row", `{"id":${deep},"patch":{}}`]],
  ["a filter", (_, deep) => ["DELETE", "/v1/t", `{"filter":{"v":${deep}}}`]],
  ["a batch", (_, deep) => ["POST", "/v1/t/batch", `{"operations":[{"action":"add","row":{"v":${deep}}}]}`]],
  ["a batch's own place", (_, deep) => ["POST", "/v1/t/batch", `{"operations":${deep}}`]],
  ["an unknown member", (_, deep) => ["POST", "/v1/t/restore", `{"id":"x","version":1,"more":${deep}}`]],
  ["a key's name", (_, deep) => ["POST", "/v1/_keys", `{"name":${deep}}`], 2000]
]

const refused = Effect.fnUntraced(function* (
  key: string,
  [method, path, body]: readonly [string, string, string?],
  codes: ReadonlyArray<string>
) {
  const started = cpuTime()
  const answer = yield* wire(method, path, { key, body })
  const took = cpuTime() - started
  const { code } = JSON.parse(answer.text) as { code: string }
  assert.include(codes, code, answer.text)
  assertProblem(answer, 400, code)
  return took
})

layer(serviceLayer())("Deep nesting", (it) => {
  for (const [what, send, most = deepest] of places) {
    it.effect(`P16 in ${what} is refused at once, and later reads work`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        assert.strictEqual((yield* wire("POST", "/v1/t", { key, body: '{"k":0}' })).status, 201)
        for (const levels of [101, most / 6, most]) {
          for (const nest of [objects, arrays]) {
            const took = [
              yield* refused(key, send(key, nest(levels)), ["too_deep"]),
              yield* refused(key, send(key, nest(levels)), ["too_deep"]),
              yield* refused(key, send(key, nest(levels)), ["too_deep"])
            ]
            // The quickest of three: the machine's other work is not the service's time.
            assert.isBelow(Math.min(...took), 50)
          }
        }
        for (const nest of [unclosed, unclosedObjects]) {
          yield* refused(key, send(key, nest(most)), ["too_deep", "invalid_json"])
        }
        assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":1}')
        assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).status, 200)
      })
    )
  }

  for (const operation of ["", "/count"]) {
    it.effect(`in the filter of GET ${operation} is refused at once`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        for (const nest of [objects, arrays]) {
          // An address may have 32 KB; the brackets stand in it as they are.
          for (const levels of [101, 2_000, nest === arrays ? 15_000 : 4_000]) {
            const path = `/v1/t${operation}?filter=${nest(levels).replaceAll('"', "%22")}`
            if (path.length > 32_000) continue
            const took = yield* refused(key, ["GET", path], ["too_deep"])
            assert.isBelow(Math.min(took, yield* refused(key, ["GET", path], ["too_deep"])), 50)
          }
        }
      })
    )
  }

  it.effect("of 30,000 levels in a filter is too long for an address", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const answer = yield* wire("GET", `/v1/t?filter=${arrays(30_000)}`, { key })
      assert.strictEqual(answer.status, 431)
    })
  )

  it.effect("of 100 levels works in each place that takes any JSON, and stays readable", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const row = `{"k":1,"v":${arrays(99)}}`
      const { id } = JSON.parse((yield* wire("POST", "/v1/t", { key, body: row })).text) as { id: string }
      const requests = [
        ["/v1/t/upsert", `{"key":"k","row":${row}}`],
        ["/v1/t/update_row", `{"id":"${id}","patch":${row}}`],
        ["/v1/t/update_where", `{"filter":{"k":1},"patch":${row}}`],
        ["/v1/t/batch", `{"operations":[{"action":"upsert","key":"k","row":${row}}]}`]
      ] as const
      for (const [path, body] of requests) {
        const answer = yield* wire("POST", path, { key, body })
        assert.strictEqual(answer.status, 200, answer.text)
        assert.include(answer.text, arrays(99))
      }
      for (const path of ["/v1/t", "/v1/_export", `/v1/t/versions?id=${id}`]) {
        assert.include((yield* wire("GET", path, { key })).text, `"v":${arrays(99)}}`)
      }
    })
  )
})

layer(serviceLayer())("Names of one account", (it) => {
  // JSON.parse of Node 24 remembers the first of these names for the second, over all of the process.
  it.effect("P15b never turn up in the answers of another", () =>
    Effect.gen(function* () {
      const accounts = [(yield* newAccount).apiKey, (yield* newAccount).apiKey]
      const bodies = [String.raw`{"\\":1}`, String.raw`{"\n":2}`]
      for (let round = 0; round < 20; round++) {
        for (const [index, key] of accounts.entries()) {
          const body = bodies[(index + round) % 2]!
          const table = `t${round % 10}`
          const operations = String.raw`{"operations":[{"action":"upsert","key":${JSON.stringify(Object.keys(JSON.parse(body) as object)[0])},"row":${body}}]}`
          const added = yield* wire("POST", `/v1/${table}`, { key, body })
          assert.isTrue(added.text.endsWith(body.slice(1)), added.text)
          const batch = yield* wire("POST", `/v1/b${table}/batch`, { key, body: operations })
          assert.isTrue(batch.text.endsWith(`${body.slice(1)}}}]}`), batch.text)
          const found = yield* wire("GET", `/v1/${table}?filter=${encodeURIComponent(body)}`, { key })
          assert.include(found.text, body.slice(1))
          assert.notInclude(found.text, bodies[(index + round + 1) % 2]!.slice(1))
        }
      }
    })
  )

  it.effect("P15b stay apart when they come in two requests at once", () =>
    Effect.gen(function* () {
      const { apiKey: first } = yield* newAccount
      const { apiKey: second } = yield* newAccount
      const send = (key: string, body: string) =>
        Effect.map(wire("POST", "/v1/t", { key, body }), ({ text }) => text.slice(text.lastIndexOf('Z","') + 3))
      const answers = yield* Effect.all(
        Array.from({ length: 40 }, (_, n) =>
          n % 2 === 0 ? send(first, String.raw`{"\\":"\\"}`) : send(second, String.raw`{"\n":"\n"}`)
        ),
        { concurrency: 20 }
      )
      assert.deepStrictEqual(
        answers,
        Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? String.raw`"\\":"\\"}` : String.raw`"\n":"\n"}`))
      )
    })
  )
})
