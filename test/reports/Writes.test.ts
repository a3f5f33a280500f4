import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assertProblem, jsonOf, search, wire, type WireAnswer } from "../server/wire/Wire.ts"
import { newAccount, serviceLayer } from "../support/TestService.ts"
import { add, addAll, countOf, post, rowsOf, versionsOf, type RowBody } from "./Calls.ts"

/** Text of Chinese, Japanese and Korean characters that does not compress, about this many bytes long. */
const incompressible = (bytes: number, seed: number): string => {
  let state = seed
  return Array.from({ length: Math.floor(bytes / 3) }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return String.fromCharCode(0x4e00 + ((state >>> 8) % 0x51a5))
  }).join("")
}

const upsert = Effect.fnUntraced(function* (key: string, keys: string, row: string) {
  const answer = yield* post(key, "t/upsert", `{"key":${keys},"row":${row}}`)
  assert.strictEqual(answer.status, 200, answer.text)
  return jsonOf<{ created: boolean; row: RowBody }>(answer)
})

const ownFields = (row: RowBody) => Object.fromEntries(Object.entries(row).slice(3))

layer(serviceLayer(), { excludeTestServices: true })("Writes that other stores got wrong:", (it) => {
  // https://github.com/baserow/baserow/issues/3910, https://github.com/payloadcms/payload/issues/8787
  for (const bytes of [2700, 8200, 60_000]) {
    it.effect(`C17 finds, replaces and sorts by text of ${bytes} bytes that does not compress`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const text = incompressible(bytes, bytes)
        const alike = [`${text}a`, `${text}b`, text.slice(0, -1)]
        for (const value of [text, ...alike]) {
          const row = `{"k":"${value}","n":1}`
          assert.isTrue((yield* upsert(key, '"k"', row)).created)
          assert.isFalse((yield* upsert(key, '"k"', row)).created)
        }
        assert.strictEqual(yield* countOf(key, "t"), 4)
        const sorted = (yield* rowsOf(key, "t", { sort: "-k" })).map((row) => row["k"])
        assert.deepStrictEqual(sorted, [`${text}b`, `${text}a`, text, text.slice(0, -1)])
        const filter = `{"k":"${text}"}`
        const changed = yield* wire("POST", "/v1/t/update_where", { key, body: `{"filter":${filter},"patch":{"n":2}}` })
        const deleted = yield* wire("DELETE", "/v1/t", { key, body: `{"filter":${filter}}` })
        if (bytes > 16_384) {
          // What a filter may have is less than a row.
          const codes = [changed, deleted].map((answer) => [answer.status, jsonOf(answer)["code"]])
          assert.deepStrictEqual(codes, [
            [400, "invalid_request"],
            [400, "invalid_request"]
          ])
          return
        }
        assert.strictEqual(jsonOf(changed)["updated"], 1)
        assert.include(deleted.text, '{"deleted":1,')
      })
    )
  }

  it.effect("C17 takes long names, several long key fields at once and long numbers", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const [one, other] = [incompressible(9000, 1), incompressible(9000, 2)]
      const row = `{"${one}":"${other}","${other}":"${one}","n":${"7".repeat(9000)}}`
      const keys = `["${one}","n","${other}"]`
      assert.isTrue((yield* upsert(key, keys, row)).created)
      assert.isFalse((yield* upsert(key, keys, row)).created)
      assert.lengthOf(yield* rowsOf(key, "t", { sort: one.slice(0, 2500), filter: `{"n":${"7".repeat(9000)}}` }), 1)
      assert.lengthOf(yield* rowsOf(key, "t", { sort: "n", filter: `{"${one.slice(0, 2500)}":1}` }), 0)
    })
  )

  // https://github.com/supabase/supabase-js/issues/1653, https://github.com/PostgREST/postgrest/issues/4046
  for (const through of ["upsert", "batch"] as const) {
    it.effect(`C19 replaces the whole row by ${through}, and neither keeps nor demands fields that were left out`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const save = Effect.fnUntraced(function* (row: string) {
          if (through === "upsert") return yield* post(key, "t/upsert", `{"key":"sku","row":${row}}`)
          return yield* post(key, "t/batch", `{"operations":[{"action":"upsert","key":"sku","row":${row}}]}`)
        })
        const stored = Effect.map(rowsOf(key, "t"), (rows) => rows.map(ownFields))
        yield* save('{"sku":"a","name":"n","qty":1}')
        yield* save('{"sku":"a","qty":2}')
        assert.deepStrictEqual(yield* stored, [{ sku: "a", qty: 2 }])
        for (const row of ["{}", '{"qty":3}', '{"sku":null}', '{"sku":["a"]}', '{"sku":{"a":1}}']) {
          assertProblem(yield* save(row), 400, "invalid_request")
        }
        assert.deepStrictEqual(yield* stored, [{ sku: "a", qty: 2 }])
        yield* save('{"sku":"a","qty":null}')
        assert.deepStrictEqual(yield* stored, [{ sku: "a", qty: null }])
        yield* save('{"sku":"a"}')
        yield* save('{"sku":"b"}')
        assert.deepStrictEqual(yield* stored, [{ sku: "a" }, { sku: "b" }])
      })
    )
  }

  it.effect("C19 says in its documentation that an upsert replaces, and what changes a part", () =>
    Effect.gen(function* () {
      const document = jsonOf<{ paths: Record<string, { post: { description: string } }> }>(
        yield* wire("GET", "/openapi.json")
      )
      const { description } = document.paths["/v1/{table}/upsert"]!.post
      for (const word of ["Replaces", "update_row", "update_where"]) assert.include(description, word)
    })
  )

  // https://github.com/mem0ai/mem0/issues/3928
  it.effect("C22 deletes what the filter names and nothing without one, and never another account's rows", () =>
    Effect.gen(function* () {
      const [a, b] = [yield* newAccount, yield* newAccount]
      const rows = ['{"s":"x"}', '{"s":"x"}', '{"s":"y"}', '{"s":1}', "{}"]
      for (const { apiKey } of [a, b]) {
        yield* addAll(apiKey, "t", rows)
        yield* addAll(apiKey, "other", rows)
      }
      const [x] = yield* rowsOf(a.apiKey, "t")
      const key = a.apiKey
      const refused: ReadonlyArray<readonly [query: string, body: string | undefined, code: string]> = [
        ["", undefined, "invalid_request"],
        ["", "{}", "invalid_request"],
        ["", '{"filter":{}}', "filter_required"],
        ["", '{"filter":null}', "invalid_request"],
        ["", '{"filter":"{}"}', "invalid_request"],
        ["", '{"fliter":{"s":"x"}}', "invalid_request"],
        ["", '{"s":"x"}', "invalid_request"],
        ["", '{"filter":{"s":"x"},"limit":1}', "invalid_request"],
        ["?filter={}", undefined, "filter_required"],
        ["?filter={}&fliter=1", undefined, "invalid_request"],
        ["?fliter=%7B%22s%22:%22x%22%7D", undefined, "invalid_request"],
        ["?filter=", undefined, "invalid_json"],
        ["?filter=%7B%22s%22:%22x%22%7D", '{"filter":{"s":"x"}}', "invalid_request"],
        ["?filter=%7B%22s%22:%22x%22%7D&limit=1", undefined, "invalid_request"]
      ]
      for (const [query, body, code] of refused) {
        assertProblem(yield* wire("DELETE", `/v1/t${query}`, { key, body }), 400, code)
      }
      const batched = '{"operations":[{"action":"delete","filter":{"s":"x"}},{"action":"delete","filter":{}}]}'
      assertProblem(yield* post(key, "t/batch", batched), 400, "filter_required")
      assert.strictEqual(yield* countOf(key, "t"), 5)

      const deleted = yield* wire("DELETE", `/v1/t${search({ filter: '{"s":"x"}' })}`, { key })
      assert.include(deleted.text, '{"deleted":2,')
      const inBody = yield* wire("DELETE", "/v1/t", { key, body: '{"filter":{"s":"y"}}' })
      assert.include(inBody.text, '{"deleted":1,')
      assert.deepStrictEqual((yield* rowsOf(key, "t")).map(ownFields), [{ s: 1 }, {}])
      assert.lengthOf(yield* versionsOf(key, "t", x!.id), 1)
      assert.strictEqual(yield* countOf(key, "other"), 5)
      for (const table of ["t", "other"]) assert.strictEqual(yield* countOf(b.apiKey, table), 5)
      assertProblem(yield* post(b.apiKey, "t/restore", `{"id":"${x!.id}","version":1}`), 404, "version_not_found")
    })
  )

  // https://github.com/mem0ai/mem0/issues/4957
  it.effect("C23 changes and deletes a thousand rows at once, each with its version", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* addAll(
        key,
        "t",
        Array.from({ length: 1000 }, (_, n) => `{"g":1,"n":${n}}`)
      )
      const rows = yield* rowsOf(key, "t", { limit: "1000", filter: '{"g":1}' })
      assert.lengthOf(rows, 1000)
      const body = '{"filter":{"g":1},"patch":{"h":2},"allowMultiple":true}'
      const updated = jsonOf<{ updated: number; rows: ReadonlyArray<RowBody> }>(
        yield* post(key, "t/update_where", body)
      )
      assert.deepStrictEqual([updated.updated, updated.rows.length], [1000, 1000])
      assert.strictEqual(new Set(updated.rows.map((row) => row.id)).size, 1000)

      const remove = wire("DELETE", "/v1/t", { key, body: '{"filter":{"g":1}}' })
      assert.include((yield* remove).text, '{"deleted":1000,')
      assert.strictEqual(yield* countOf(key, "t"), 0)
      assert.strictEqual((yield* remove).text, '{"deleted":0}')
      for (const row of rows.filter((_, n) => n % 100 === 99 || n === 0)) {
        assert.deepStrictEqual(
          (yield* versionsOf(key, "t", row.id)).map(({ operation }) => operation),
          ["delete", "update"]
        )
      }
    })
  )

  // https://github.com/typicode/json-server/issues/565
  it.effect("C20 loses none of three clients' concurrent adds and patches of one row", () =>
    Effect.gen(function* () {
      const { apiKey: first } = yield* newAccount
      const shared = jsonOf<RowBody>(yield* add(first, "one", "{}"))
      const another = Effect.map(post(first, "_keys", '{"name":"client"}'), (answer) =>
        String(jsonOf(answer)["api_key"])
      )
      const clients = [first, yield* another, yield* another]
      const calls = clients.flatMap((key, client) =>
        Array.from({ length: 25 }, (_, n) => [
          post(key, "t", `{"client":${client},"n":${n}}`),
          post(key, "one/update_row", `{"id":"${shared.id}","patch":{"f${client}_${n}":${n}}}`)
        ]).flat()
      )
      const answers: ReadonlyArray<WireAnswer> = yield* Effect.all(calls, { concurrency: "unbounded" })
      for (const answer of answers) assert.oneOf(answer.status, [200, 201], answer.text)

      const rows = yield* rowsOf(first, "t", { limit: "1000" })
      assert.strictEqual(new Set(rows.map(({ id }) => id)).size, 75)
      assert.strictEqual(new Set(rows.map((row) => `${row["client"]} ${row["n"]}`)).size, 75)
      assert.lengthOf(Object.keys(ownFields((yield* rowsOf(first, "one"))[0]!)), 75)
      const versions = yield* versionsOf(first, "one", shared.id)
      assert.deepStrictEqual(
        versions.map(({ version }) => version),
        Array.from({ length: 10 }, (_, n) => 75 - n)
      )
      // Each archived row has one field less than the one after it.
      assert.deepStrictEqual(
        versions.map(({ row }) => Object.keys(ownFields(row)).length),
        Array.from({ length: 10 }, (_, n) => 74 - n)
      )
    })
  )
})
