import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assertProblem, jsonOf, pathsOf, search, wire } from "../server/wire/Wire.ts"
import { newAccount, serviceLayer } from "../support/TestService.ts"
import { add, addAll, countOf, find, post, rowsOf } from "./Calls.ts"

const shadowing =
  '{"hasOwnProperty":1,"toString":null,"toJSON":"x","then":1,"length":-1,"constructor":{"prototype":1},"valueOf":0}'

const memberNames = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty", "then", "toJSON", "valueOf"]

layer(serviceLayer(), { excludeTestServices: true })("Names that other stores stumbled over:", (it) => {
  // https://github.com/typicode/json-server/issues/411
  it.effect("C13 P17 keeps fields that shadow the members of objects verbatim, and later calls work", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const tail = shadowing.slice(1)
      const added = yield* add(key, "t", shadowing)
      assert.isTrue(added.text.endsWith(tail))
      const { id } = jsonOf<{ id: string }>(added)
      for (const parameters of [
        {},
        { sort: "toString" },
        { sort: "-then" },
        { filter: '{"then":1}' },
        { sort: "length", filter: '{"toJSON":"x"}' }
      ]) {
        assert.strictEqual((yield* find(key, "t", parameters)).text, `{"rows":[${added.text}],"has_more":false}`)
      }
      assert.strictEqual((yield* wire("GET", "/v1/_export", { key })).text, `{"tables":{"t":[${added.text}]}}`)
      yield* post(key, "t/update_row", `{"id":"${id}","patch":{"toJSON":{"then":2}}}`)
      const versions = yield* wire("GET", `/v1/t/versions${search({ id })}`, { key })
      assert.include(versions.text, `"row":${added.text}}],"current":`)
      assert.include((yield* post(key, "t/restore", `{"id":"${id}","version":1}`)).text, tail)
      assert.include((yield* post(key, "t/upsert", `{"key":["then","length"],"row":${shadowing}}`)).text, tail)
      assert.include((yield* wire("GET", "/v1/_tables", { key })).text, '{"name":"t","rows":1}')
    })
  )

  it.effect("C13 refuses rows that are no objects, of which none could break later calls", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const value of ['"x"', "null", "1", "[]", "true", '[{"a":1}]']) {
        assertProblem(yield* post(key, "t", value), 400, "invalid_request")
        const bodies: Record<string, string> = {
          upsert: `{"key":"a","row":${value}}`,
          update_row: `{"id":"x","patch":${value}}`,
          batch: `{"operations":[{"action":"add","row":${value}}]}`
        }
        for (const [operation, body] of Object.entries(bodies)) {
          assertProblem(yield* post(key, `t/${operation}`, body), 400, "invalid_request")
        }
      }
      assert.deepStrictEqual(yield* rowsOf(key, "t"), [])
    })
  )

  // https://github.com/parse-community/parse-server/pull/10169
  for (const name of memberNames) {
    it.effect(`C14 takes ${name} as an ordinary field, table, key and id`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const row = `{"${name}":{"admin":true},"in":[{"${name}":{"admin":1}}]}`
        // Addresses that begin with _ are the service's own.
        if (name.startsWith("_")) assertProblem(yield* post(key, name, row), 404, "not_found")
        else {
          const added = yield* add(key, name, row)
          assert.isTrue(added.text.endsWith(row.slice(1)))
          const exported = yield* wire("GET", "/v1/_export", { key })
          assert.strictEqual(exported.text, `{"tables":{"${name}":[${added.text}]}}`)
          assert.strictEqual(
            (yield* wire("GET", "/v1/_tables", { key })).text,
            `{"tables":[{"name":"${name}","rows":1}]}`
          )
        }
        assert.isTrue((yield* add(key, "t", row)).text.endsWith(row.slice(1)))

        const upsert = `{"key":"${name}","row":{"${name}":1,"v":2}}`
        const created = yield* post(key, "t/upsert", upsert, { "idempotency-key": name })
        assert.strictEqual(jsonOf(created)["created"], true, created.text)
        const replayed = yield* post(key, "t/upsert", upsert, { "idempotency-key": name })
        assert.strictEqual(replayed.headers["idempotent-replayed"], "true")
        assert.strictEqual(jsonOf(yield* post(key, "t/upsert", upsert))["created"], false)
        assert.lengthOf(yield* rowsOf(key, "t", { filter: `{"${name}":1}`, sort: name }), 1)

        const patched = yield* post(key, "t/update_where", `{"filter":{"${name}":1},"patch":{"${name}":[]}}`)
        assert.include(patched.text, `"${name}":[],"v":2`)
        assertProblem(yield* post(key, "t/update_row", `{"id":"${name}","patch":{}}`), 404, "row_not_found")
        assert.strictEqual((yield* wire("GET", `/v1/t/versions?id=${name}`, { key })).text, '{"versions":[]}')
        assert.strictEqual((yield* wire("DELETE", `/v1/_keys/${name}`, { key })).text, '{"revoked":0}')
        assert.strictEqual((yield* post(key, "_keys", `{"name":"${name}"}`)).status, 201)
        assert.strictEqual(
          (yield* wire("POST", "/auth/magic-link", { body: `{"email":"${name}@example.com"}` })).status,
          200
        )
      })
    )

    it.effect(`C14 refuses ${name} as an operation, member, parameter or API key`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const operation = `{"action":"${name}","row":{},"filter":{},"patch":{},"id":"x","key":"k"}`
        assertProblem(yield* post(key, "t/batch", `{"operations":[${operation}]}`), 400, "invalid_request")
        const member = yield* post(key, "t/upsert", `{"key":"a","row":{"a":1},"${name}":{"admin":true}}`)
        assert.deepStrictEqual(pathsOf(assertProblem(member, 400, "invalid_request")), [`/${name}`])
        const parameter = yield* wire("GET", `/v1/t?${name}=1`, { key })
        assert.deepStrictEqual(pathsOf(assertProblem(parameter, 400, "invalid_request")), [name])
        assertProblem(yield* wire("GET", `/v1/t/${name}`, { key }), 404, "not_found")
        assertProblem(yield* wire("GET", "/v1/t", { key: `svc_live_${name}_x` }), 401, "unauthenticated")
        assertProblem(yield* wire("POST", "/auth/verify", { body: `{"token":"${name}"}` }), 401, "invalid_token")
        assert.strictEqual(yield* countOf(key, "t"), 0)
      })
    )
  }

  it.effect("C14 leaves every object without foreign members, and other accounts working", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* newAccount, yield* newAccount]
      yield* add(one.apiKey, "t", '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}')
      yield* post(one.apiKey, "t/update_where", '{"filter":{"admin":true},"patch":{"__proto__":{"admin":true}}}')
      assert.isUndefined(({} as Record<string, unknown>)["admin"])
      assert.isUndefined((Object as unknown as Record<string, unknown>)["admin"])
      yield* add(other.apiKey, "t", "{}")
      assert.lengthOf(yield* rowsOf(other.apiKey, "t", { filter: '{"admin":true}' }), 0)
      assert.strictEqual(yield* countOf(other.apiKey, "t"), 1)
    })
  )

  // https://github.com/supabase/supabase/issues/12539, https://github.com/trailbaseio/trailbase/issues/52
  it.effect("C25 P17 filters and sorts by fields that are named like parameters or oddly", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const names = [
        "order",
        "limit",
        "sort",
        "filter",
        "select",
        "count",
        "id2",
        "a.b",
        "x y",
        "-neg",
        "--neg",
        "-",
        "é",
        "日本",
        "rows",
        "offset",
        "and",
        "or",
        "a->b",
        "$eq",
        "%",
        "a%2Eb",
        "+",
        "*",
        "'",
        '\\"',
        "\\\\",
        "a:b",
        "id::text",
        "(select 1)",
        ","
      ]
      for (const name of names)
        yield* addAll(
          key,
          "t",
          [2, 1].map((value) => `{"${name}":${value}}`)
        )
      for (const name of names) {
        const field = JSON.parse(`"${name}"`) as string
        const found = yield* rowsOf(key, "t", { filter: `{"${name}":1}` })
        assert.deepStrictEqual(
          found.map((row) => row[field]),
          [1],
          name
        )
        const ascending = yield* rowsOf(key, "t", { sort: field.startsWith("-") ? `-${field}` : field })
        const descending = yield* rowsOf(key, "t", { sort: `-${field}` })
        const first = [ascending, descending].map((rows) => rows.slice(0, 2).map((row) => row[field]))
        // A name that begins with - can only be sorted by downwards: a leading - always says which way.
        assert.deepStrictEqual(first, [field.startsWith("-") ? [2, 1] : [1, 2], [2, 1]], name)
      }
      const [neg] = yield* rowsOf(key, "t", { sort: "--neg" })
      assert.strictEqual(neg!["-neg"], 2)
    })
  )

  it.effect("C25 takes no parameters but filter, sort and limit, and each once", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* add(key, "t", '{"a":1}')
      for (const name of ["order", "select", "count", "offset", "a", "id", "page", "Filter", "filter[a]", "_", ""]) {
        const answer = yield* wire("GET", `/v1/t${search({ [name]: "1" })}`, { key })
        assert.deepStrictEqual(pathsOf(assertProblem(answer, 400, "invalid_request")), [name])
      }
      for (const query of ["sort=a&sort=b", "limit=1&limit=2", "filter=%7B%7D&filter=%7B%7D"]) {
        assertProblem(yield* wire("GET", `/v1/t?${query}`, { key }), 400, "invalid_request")
      }
    })
  )
})
