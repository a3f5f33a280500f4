import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, raw, wire, type ProblemBody } from "./Wire.ts"

type Case = readonly [method: string, path: string, body?: string]

const bodies: Record<string, Case> = {
  add: ["POST", "/v1/t", '{"a":1}'],
  delete: ["DELETE", "/v1/t", '{"filter":{"a":1}}'],
  upsert: ["POST", "/v1/t/upsert", '{"key":"a","row":{"a":1}}'],
  batch: ["POST", "/v1/t/batch", '{"operations":[{"action":"add","row":{}}]}'],
  update_row: ["POST", "/v1/t/update_row", '{"id":"x","patch":{"a":1}}'],
  update_where: ["POST", "/v1/t/update_where", '{"filter":{"a":1},"patch":{"a":1}}'],
  restore: ["POST", "/v1/t/restore", '{"id":"x","version":1}'],
  "create key": ["POST", "/v1/_keys", '{"name":"a"}'],
  "magic link": ["POST", "/auth/magic-link", '{"email":"ada@example.com"}']
}

const reads: Record<string, Case> = {
  query: ["GET", "/v1/t"],
  count: ["GET", "/v1/t/count"],
  versions: ["GET", "/v1/t/versions?id=x"]
}

const keyed = (path: string, key: string) => (path.startsWith("/v1") ? { key } : {})

layer(serviceLayer())("A request that the operation does not know", (it) => {
  for (const [name, [method, path, body]] of Object.entries({ ...bodies, ...reads })) {
    it.effect(`${name} refuses an unknown parameter, and names it`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const url = `${path}${path.includes("?") ? "&" : "?"}fliter=%7B%7D`
        const problem = assertProblem(yield* wire(method, url, { ...keyed(path, key), body }), 400, "invalid_request")
        assert.deepStrictEqual(pathsOf(problem), ["fliter"])
        assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":0}')
      })
    )

    it.effect(`${name} refuses a query that is no percent-encoded UTF-8`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        for (const bad of ["filter=%", "filter=%zz", "%ff=1", "filter=%c3%28"]) {
          const url = `${path}${path.includes("?") ? "&" : "?"}${bad}`
          assertProblem(yield* wire(method, url, { ...keyed(path, key), body }), 400, "invalid_request")
        }
      })
    )
  }

  for (const [name, [method, path, body]] of Object.entries(bodies)) {
    if (name === "add") continue
    it.effect(`${name} refuses an unknown member, and names it`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const more = body!.replace(/\}$/, ',"all_of~it/":true}')
        const problem = assertProblem(
          yield* wire(method, path, { ...keyed(path, key), body: more }),
          400,
          "invalid_request"
        )
        assert.deepStrictEqual(pathsOf(problem), ["/all_of~0it~1"])
      })
    )

    it.effect(`${name} refuses each missing member, and a body that is no object`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const members = jsonOf({ text: body! })
        for (const missing of Object.keys(members)) {
          const { [missing]: _, ...rest } = members
          const answer = yield* wire(method, path, { ...keyed(path, key), body: JSON.stringify(rest) })
          const problem = assertProblem(answer, 400, "invalid_request")
          assert.deepStrictEqual(pathsOf(problem), [`/${missing}`])
        }
        for (const bad of ["[]", "null", "1", '"x"', `[${body!}]`]) {
          assertProblem(yield* wire(method, path, { ...keyed(path, key), body: bad }), 400, "invalid_request")
        }
      })
    )

    it.effect(`${name} refuses a name that stands twice in its body`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const twice = `{${body!.slice(1, -1)},${body!.slice(1)}`
        assertProblem(yield* wire(method, path, { ...keyed(path, key), body: twice }), 400, "duplicate_field")
      })
    )
  }

  const withoutParameters: ReadonlyArray<readonly [method: string, path: string]> = [
    ["GET", "/v1/_tables"],
    ["GET", "/v1/_export"],
    ["GET", "/v1/_usage"],
    ["GET", "/v1/_keys"],
    ["DELETE", "/v1/_keys/unknown"],
    ["GET", "/v1/_connections"],
    ["DELETE", "/v1/_connections/unknown"]
  ]
  for (const [method, path] of withoutParameters) {
    it.effect(`${method} ${path} refuses every parameter, and names it`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const problem = assertProblem(yield* wire(method, `${path}?a=1&table=t&a=2`, { key }), 400, "invalid_request")
        assert.deepStrictEqual(
          problem.errors?.map(({ parameter }) => parameter),
          ["a", "table"]
        )
        assertProblem(yield* wire(method, `${path}?filter=%`, { key }), 400, "invalid_request")
        assert.strictEqual((yield* wire(method, `${path}?`, { key })).status, 200)
      })
    )
  }

  const gets = ["/v1/t", "/v1/t/count", "/v1/t/versions?id=x", "/v1/_tables", "/v1/_export"]
  for (const method of ["GET", "HEAD"]) {
    it.effect(`a body of ${method} is refused, as it would be taken for a filter that was looked at`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        for (const path of gets) {
          const answer = yield* wire(method, path, { key, body: '{"filter":{"a":1}}' })
          assert.strictEqual(answer.status, 400, path)
          if (method === "GET") assert.include(assertProblem(answer, 400, "invalid_request").hint, "?filter=")
          const empty = yield* wire(method, path, { key, body: "", headers: { "content-length": "0" } })
          assert.strictEqual(empty.status, 200)
        }
      })
    )
  }

  it.effect("the head of a GET that announces chunks and has none is answered", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const head = `GET /v1/t/count HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
      assert.include(yield* raw(`${head}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n`), '{"count":0}')
    })
  )

  it.effect("names a parameter, a header and a table's name as such, and a filter's field by a pointer into it", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const errorsOf = (method: string, path: string, more: object = {}) =>
        Effect.map(wire(method, path, { key, ...more }), (answer) =>
          jsonOf<ProblemBody>(answer).errors?.map(({ parameter, path }) => [parameter, path])
        )
      assert.deepStrictEqual(yield* errorsOf("GET", "/v1/t?limit=0"), [["limit", undefined]])
      assert.deepStrictEqual(yield* errorsOf("GET", "/v1/t?%2Fa=1"), [["/a", undefined]])
      assert.deepStrictEqual(yield* errorsOf("GET", "/v1/1t"), [["table", undefined]])
      assert.deepStrictEqual(yield* errorsOf("GET", "/v1/t?filter=%7B%22a~/b%22:%5B%5D%7D"), [["filter", "/a~0~1b"]])
      const headers = { "idempotency-key": "" }
      assert.deepStrictEqual(yield* errorsOf("POST", "/v1/t", { body: "{}", headers }), [
        ["idempotency-key", undefined]
      ])
    })
  )

  const noKeys = [
    "null",
    "undefined",
    "None",
    "NaN",
    '"null"',
    '""',
    '"a", "b"',
    '"',
    " ",
    "NULL",
    "<nil>",
    "(null)",
    "[object Object]"
  ]
  it.effect("an idempotency key that stands for none, or for two, is refused", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const idempotencyKey of noKeys) {
        const headers = { "idempotency-key": idempotencyKey }
        const answer = yield* wire("POST", "/v1/t", { key, body: "{}", headers })
        assert.strictEqual(pathsOf(assertProblem(answer, 400, "invalid_request"))[0], "idempotency-key")
        const body = JSON.stringify({ operations: [{ action: "add", row: {}, idempotencyKey }] })
        const batch = assertProblem(yield* wire("POST", "/v1/t/batch", { key, body }), 400, "invalid_request")
        assert.strictEqual(pathsOf(batch)[0], "/operations/0/idempotencyKey")
      }
      const line = "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n"
      const twice = yield* raw(
        `${line}Authorization: Bearer ${key}\r\nIdempotency-Key: a\r\nIdempotency-Key: b\r\n\r\n{}`
      )
      assert.strictEqual(twice.slice(9, 12), "400", twice)
      assert.include(twice, '"parameter":"idempotency-key"')
      assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":0}')
      const written = { body: "{}", headers: { "idempotency-key": "nullable" } }
      assert.strictEqual((yield* wire("POST", "/v1/t", { key, ...written })).status, 201)
    })
  )

  it.effect("a version that is too great for any is not found, however it is spelled", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = jsonOf<{ id: string }>(yield* wire("POST", "/v1/t", { key, body: "{}" }))
      for (const version of ["9007199254740991", "9007199254740992", "9007199254740993", "1e300"]) {
        const body = `{"id":"${id}","version":${version}}`
        assertProblem(yield* wire("POST", "/v1/t/restore", { key, body }), 404, "version_not_found")
      }
    })
  )

  const badParameters: ReadonlyArray<readonly [path: string, parameter: string]> = [
    ["/v1/t?limit=0", "limit"],
    ["/v1/t?limit=1001", "limit"],
    ["/v1/t?limit=-1", "limit"],
    ["/v1/t?limit=1.5", "limit"],
    ["/v1/t?limit=", "limit"],
    ["/v1/t?limit=ten", "limit"],
    ["/v1/t?limit=0x10", "limit"],
    ["/v1/t?limit=1e2", "limit"],
    ["/v1/t?limit=%2010", "limit"],
    ["/v1/t?limit=Infinity", "limit"],
    ["/v1/t?limit=1&limit=2", "limit"],
    ["/v1/t?sort=", "sort"],
    ["/v1/t?sort=a&sort=b", "sort"],
    ["/v1/t?filter=%7B%7D&filter=%7B%7D", "filter"],
    ["/v1/t/count?filter=%7B%7D&filter=%7B%7D", "filter"],
    ["/v1/t?filter=", "filter"],
    ["/v1/t?filter=%5B%5D", "filter"],
    ["/v1/t?filter=%22a%22", "filter"],
    ["/v1/t?filter=null", "filter"],
    ["/v1/t?filter=%7B%22a%22:%7B%7D%7D", "filter/a"],
    ["/v1/t?filter=%7B%22a%22:%5B1%5D%7D", "filter/a"],
    ["/v1/t/versions", "id"],
    ["/v1/t/versions?id=x&id=y", "id"]
  ]
  for (const [path, parameter] of badParameters) {
    it.effect(`GET ${path} is refused for ${parameter}`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const body: ProblemBody = jsonOf<ProblemBody>(yield* wire("GET", path, { key }))
        assert.strictEqual(body.status, 400)
        assert.deepStrictEqual(pathsOf(body), [parameter])
      })
    )
  }

  const badValues: ReadonlyArray<readonly [what: string, request: Case, place: string]> = [
    ["a version of 0", ["POST", "/v1/t/restore", '{"id":"x","version":0}'], "/version"],
    ["a version of 1.5", ["POST", "/v1/t/restore", '{"id":"x","version":1.5}'], "/version"],
    ["a version as text", ["POST", "/v1/t/restore", '{"id":"x","version":"1"}'], "/version"],
    ["an id that is no string", ["POST", "/v1/t/update_row", '{"id":1,"patch":{}}'], "/id"],
    ["a patch that is no object", ["POST", "/v1/t/update_row", '{"id":"x","patch":[]}'], "/patch"],
    ["a filter that is no object", ["POST", "/v1/t/update_where", '{"filter":"{}","patch":{}}'], "/filter"],
    ["a filter value that is a list", ["DELETE", "/v1/t", '{"filter":{"a":[]}}'], "/filter/a"],
    ["a natural key of 33 fields", ["POST", "/v1/t/upsert", `{"key":[${'"a",'.repeat(32)}"a"],"row":{"a":1}}`], "/key"],
    ["a row that is no object", ["POST", "/v1/t/upsert", '{"key":"a","row":1}'], "/row"],
    ["an e-mail address that is none", ["POST", "/auth/magic-link", '{"email":"a@b@c"}'], "/email"],
    ["a key name of 81 characters", ["POST", "/v1/_keys", `{"name":"${"x".repeat(81)}"}`], "/name"],
    ["an empty key name", ["POST", "/v1/_keys", '{"name":""}'], "/name"],
    ["a key name that is no string", ["POST", "/v1/_keys", '{"name":null}'], "/name"]
  ]
  for (const [what, [method, path, body], place] of badValues) {
    it.effect(`${what} is refused at its place`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const problem = assertProblem(yield* wire(method, path, { ...keyed(path, key), body }), 400, "invalid_request")
        assert.deepStrictEqual(pathsOf(problem), [place])
      })
    )
  }

  it.effect("a key name may have 80 characters of any script", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const name = "😀".repeat(80)
      const made = yield* wire("POST", "/v1/_keys", { key, body: JSON.stringify({ name }) })
      assert.strictEqual(jsonOf<{ name: string }>(made).name, name)
    })
  )

  const badVerify = ["", "{", "[]", "{}", '{"token":1}', '{"token":"a","b":1}', '{"token":"a","token":"a"}', "\xff"]
  it.effect("every bad verify body gets the answer of an unknown token", () =>
    Effect.gen(function* () {
      const plain = assertProblem(
        yield* wire("POST", "/auth/verify", { body: `{"token":"${"a".repeat(43)}"}` }),
        401,
        "invalid_token"
      )
      const broken = [...badVerify, Buffer.from([0x22, 0xff, 0x22]), `{"token":"${"x".repeat(20_000)}"}`]
      for (const body of broken) {
        const answer = yield* wire("POST", "/auth/verify", { body })
        const problem = assertProblem(answer, 401, "invalid_token")
        assert.deepStrictEqual({ ...problem, request_id: "" }, { ...plain, request_id: "" })
        assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
      }
    })
  )
})
