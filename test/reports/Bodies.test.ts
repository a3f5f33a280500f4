import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assertProblem, jsonOf, pathsOf, search, wire } from "../server/wire/Wire.ts"
import { newAccount, serviceLayer } from "../support/TestService.ts"
import { add, countOf, find, post, rowsOf } from "./Calls.ts"

const broken = [
  "{bad",
  "",
  '{"a":1}x',
  "NaN",
  "{'a':1}",
  '{"a":1,}',
  "{",
  "}",
  '{"a"',
  '{"a":}',
  "\u0000",
  "undefined",
  "{}{}"
]
const notObjects = ["[1]", "null", '"s"', "1", "true", "[]"]

const operations = [
  "POST t",
  "POST t/upsert",
  "POST t/batch",
  "POST t/update_row",
  "POST t/update_where",
  "POST t/restore",
  "DELETE t",
  "POST _keys"
]

const arrays = (levels: number) => `{"d":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`
const objects = (levels: number) => `${'{"d":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`
const depths = [101, 102, 1000, 5000, 30_000]

layer(serviceLayer({ LIMIT_ROW_BYTES: "1000000" }), { excludeTestServices: true })(
  "Bodies and addresses that broke other services:",
  (it) => {
    // https://github.com/Effect-TS/effect-smol/issues/2491
    for (const operation of operations) {
      it.effect(`C08 answers every broken body of ${operation} with a problem, and writes nothing`, () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          yield* add(key, "t", '{"a":1}')
          const [method = "", path] = operation.split(" ")
          const send = (body: string) => wire(method, `/v1/${path}`, { key, body })
          for (const body of broken) {
            // A delete may come without a body, and then lacks its filter.
            const code = body === "" && method === "DELETE" ? "invalid_request" : "invalid_json"
            assertProblem(yield* send(body), 400, code)
          }
          for (const body of notObjects) assertProblem(yield* send(body), 400, "invalid_request")
          assert.lengthOf(yield* rowsOf(key, "t"), 1)
          assert.lengthOf(jsonOf<{ keys: Array<unknown> }>(yield* wire("GET", "/v1/_keys", { key })).keys, 1)
        })
      )
    }

    it.effect("C08 answers every broken body of a sign-in with a problem", () =>
      Effect.gen(function* () {
        for (const body of broken) {
          assertProblem(yield* wire("POST", "/auth/magic-link", { body }), 400, "invalid_json")
          assertProblem(yield* wire("POST", "/auth/verify", { body }), 401, "invalid_token")
        }
        for (const body of notObjects) {
          assertProblem(yield* wire("POST", "/auth/magic-link", { body }), 400, "invalid_request")
          assertProblem(yield* wire("POST", "/auth/verify", { body }), 401, "invalid_token")
        }
      })
    )

    // https://github.com/couchbase/couchbase-lite-core/issues/163
    it.effect("C16 stores 99 and 100 levels, and reads them back", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const rows = [arrays(99), arrays(100), objects(99), objects(100)]
        for (const row of rows) {
          assert.isTrue((yield* add(key, "t", row)).text.endsWith(row.slice(1)))
          const upsert = yield* post(key, "u/upsert", `{"key":"k","row":{"k":1,${row.slice(1)}}`)
          assert.include(upsert.text, row.slice(1))
          const batch = yield* post(key, "b/batch", `{"operations":[{"action":"add","row":${row}}]}`)
          assert.include(batch.text, row.slice(1))
        }
        const exported = yield* wire("GET", "/v1/_export", { key })
        const [query, sorted] = [yield* find(key, "t"), yield* find(key, "t", { sort: "d" })]
        for (const row of rows) for (const { text } of [exported, query, sorted]) assert.include(text, row.slice(1))
        assert.strictEqual(yield* countOf(key, "t"), rows.length)
      })
    )

    for (const [shape, make] of Object.entries({ arrays, objects })) {
      it.effect(`C16 P16 refuses ${shape} of more levels, with the limit and the place, and stays readable`, () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          const { id } = jsonOf<{ id: string }>(yield* add(key, "t", '{"a":1}'))
          const three = '{"action":"add","row":{}},'.repeat(3)
          for (const levels of depths) {
            const deep = make(levels)
            const bodies: ReadonlyArray<readonly [path: string, body: string, place: string]> = [
              ["t", deep, "/d"],
              ["t/upsert", `{"key":"a","row":${deep}}`, "/row/d"],
              ["t/batch", `{"operations":[${three}{"action":"add","row":${deep}}]}`, "/operations/3/row/d"],
              ["t/update_row", `{"id":"${id}","patch":${deep}}`, "/patch/d"],
              ["t/update_where", `{"filter":{"a":1},"patch":${deep}}`, "/patch/d"],
              ["t/update_where", `{"filter":${deep},"patch":{}}`, "/filter/d"]
            ]
            for (const [path, body, place] of bodies) {
              const value = yield* post(key, path, body)
              const problem = assertProblem(value, 400, "too_deep")
              assert.isTrue(pathsOf(problem)[0]!.startsWith(place), value.text.slice(0, 300))
              assert.include(value.text, "100")
              assert.isBelow(value.text.length, 2000)
            }
            if (levels > 1000) continue
            const filter = search({ filter: deep })
            assertProblem(yield* wire("GET", `/v1/t${filter}`, { key }), 400, "too_deep")
            assertProblem(yield* wire("GET", `/v1/t/count${filter}`, { key }), 400, "too_deep")
            assertProblem(yield* wire("DELETE", `/v1/t${filter}`, { key }), 400, "too_deep")
          }
          assert.strictEqual(yield* countOf(key, "t"), 1)
          assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).status, 200)
          assert.strictEqual((yield* wire("GET", "/health")).status, 200)
        })
      )
    }

    // https://github.com/apache/pouchdb/issues/667, https://github.com/apache/couchdb/issues/2144
    const names: Record<string, readonly [status: number, code: string]> = {
      "a%2Fb": [400, "invalid_table_name"],
      "a%252Fb": [400, "invalid_table_name"],
      "%2e%2e": [400, "invalid_table_name"],
      "%252e%252e": [400, "invalid_table_name"],
      "a%00": [400, "invalid_table_name"],
      "a+b": [400, "invalid_table_name"],
      "a%2Bb": [400, "invalid_table_name"],
      "a%20b": [400, "invalid_table_name"],
      "%E0%A4%A": [404, "not_found"],
      "%E0%A4": [404, "not_found"],
      "caf%C3%A9": [400, "invalid_table_name"],
      "tasks%2Fcount": [400, "invalid_table_name"],
      "tasks%2F..%2F_keys": [400, "invalid_table_name"],
      "%5Fexport%2F": [404, "not_found"],
      "tasks%3Flimit=1": [400, "invalid_table_name"]
    }
    for (const [name, [status, code]] of Object.entries(names)) {
      it.effect(`C26 P19 refuses the table ${name} with every method, and makes none`, () =>
        Effect.gen(function* () {
          const { apiKey: key } = yield* newAccount
          yield* add(key, "tasks", '{"a":1}')
          yield* add(key, "a", '{"a":1}')
          const before = yield* wire("GET", "/v1/_tables", { key })
          assertProblem(yield* wire("GET", `/v1/${name}`, { key }), status, code)
          assertProblem(yield* wire("POST", `/v1/${name}`, { key, body: '{"a":1}' }), status, code)
          assertProblem(yield* wire("DELETE", `/v1/${name}`, { key, body: '{"filter":{"a":1}}' }), status, code)
          assertProblem(yield* wire("GET", `/v1/${name}/count`, { key }), status, code)
          assert.strictEqual((yield* wire("GET", "/v1/_tables", { key })).text, before.text)
        })
      )
    }

    it.effect("C26 P19 decodes an address once: %63ount is count, as a table and as an operation", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const added = yield* add(key, "%63ount", '{"a":1}')
        assert.strictEqual((yield* find(key, "count")).text, `{"rows":[${added.text}],"has_more":false}`)
        assert.strictEqual((yield* find(key, "%63ount")).text, `{"rows":[${added.text}],"has_more":false}`)
        assert.strictEqual((yield* wire("GET", "/v1/count/%63ount", { key })).text, '{"count":1}')
        assertProblem(yield* wire("GET", "/v1/count/%2563ount", { key }), 404, "not_found")
      })
    )

    it.effect("C26 P19 takes an id as it is, decoded once, and answers that it is not there", () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const { id } = jsonOf<{ id: string }>(yield* add(key, "t", "{}"))
        yield* post(key, "t/update_row", `{"id":"${id}","patch":{"a":1}}`)
        const encoded = `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`
        assert.include((yield* wire("GET", `/v1/t/versions?id=${encoded}`, { key })).text, '"version":1')
        for (const odd of [
          encoded.replace("%", "%25"),
          `${id}%00`,
          `${id}+`,
          `${id}%2F`,
          "%2e%2e",
          "a%2Fb",
          "caf%C3%A9",
          `%20${id}`
        ]) {
          assert.strictEqual((yield* wire("GET", `/v1/t/versions?id=${odd}`, { key })).text, '{"versions":[]}', odd)
          assert.strictEqual((yield* wire("DELETE", `/v1/_keys/${odd}`, { key })).text, '{"revoked":0}', odd)
          const body = `{"id":${JSON.stringify(odd)},"patch":{}}`
          assertProblem(yield* post(key, "t/update_row", body), 404, "row_not_found")
        }
        assertProblem(yield* wire("GET", "/v1/t/versions?id=%E0%A4%A", { key }), 400, "invalid_request")
      })
    )
  }
)
