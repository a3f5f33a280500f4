import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, pathsOf, search, wire } from "./Wire.ts"
import { addAll } from "./FilterCalls.ts"

layer(serviceLayer())("The filter", (it) => {
  it.effect("of a delete is in the body or in the query string; both or neither is refused", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(key, ['{"n":1}', '{"n":1}', '{"n":2}', '{"n":3}'])
      const filter = (n: number) => search({ filter: `{"n":${n}}` })
      assert.include((yield* wire("DELETE", `/v1/t${filter(1)}`, { key })).text, '{"deleted":2,')
      assert.include((yield* wire("DELETE", "/v1/t", { key, body: '{"filter":{"n":2}}' })).text, '{"deleted":1,')
      const refused: ReadonlyArray<readonly [string, string | undefined, string]> = [
        [filter(3), '{"filter":{"n":3}}', "invalid_request"],
        ["", undefined, "invalid_request"],
        ["", "{}", "invalid_request"],
        ["", '{"filter":{}}', "filter_required"],
        [search({ filter: "{}" }), undefined, "filter_required"],
        [search({ filter: "{" }), undefined, "invalid_json"],
        [search({ filter: '{"n":[]}' }), undefined, "invalid_request"],
        ["", '{"filter":null}', "invalid_request"]
      ]
      for (const [query, body, code] of refused) {
        const problem = assertProblem(yield* wire("DELETE", `/v1/t${query}`, { key, body }), 400, code)
        assert.match(pathsOf(problem)[0] ?? "", /^\/?filter/)
      }
      assert.include((yield* wire("DELETE", `/v1/t${filter(3)}`, { key, body: "{}" })).text, '{"deleted":1,')
    })
  )

  it.effect("may be empty beside words to search for, which are where it is", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const all = ['{"text":"a Café"}', '{"text":"a bar"}', '{"text":"another café","n":1}', '{"text":"tea"}']
      yield* addAll(key, all)
      const remove = (query: Record<string, string>, body?: string) =>
        wire("DELETE", `/v1/t${search(query)}`, { key, body })
      for (const [query, body, code] of [
        [{ search: "cafe" }, undefined, "invalid_request"],
        [{ search: "cafe" }, '{"filter":{}}', "invalid_request"],
        [{ filter: "{}" }, '{"search":"cafe"}', "invalid_request"],
        [{ filter: "{}", search: " " }, undefined, "invalid_request"]
      ] as const) {
        assertProblem(yield* remove(query, body), 400, code)
      }
      assert.include((yield* remove({}, '{"filter":{"n":1},"search":"cafe"}')).text, '{"deleted":1,')
      assert.include((yield* remove({ filter: "{}", search: "cafe" })).text, '{"deleted":1,')
      assert.include((yield* remove({}, '{"filter":{},"search":"bar"}')).text, '{"deleted":1,')
      assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":1}')
    })
  )

  it.effect("removes every match, however many, and a row that is gone only once", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const adds = Array.from({ length: 100 }, (_, n) => ({ action: "add", row: { n, all: true } }))
      for (let sent = 0; sent < 3; sent++) {
        yield* wire("POST", "/v1/t/batch", { key, body: JSON.stringify({ operations: adds }) })
      }
      const remove = wire("DELETE", "/v1/t", { key, body: '{"filter":{"all":true}}' })
      assert.include((yield* remove).text, '{"deleted":300,')
      assert.strictEqual((yield* remove).text, '{"deleted":0}')
    })
  )
})
