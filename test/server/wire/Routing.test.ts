import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, raw, wire, type ProblemBody } from "./Wire.ts"

/** Status, headers and body of an answer that came over a raw socket. */
const parse = (text: string) => {
  const [head = "", body = ""] = text.split("\r\n\r\n")
  return { status: Number(head.split(" ", 2)[1]), head: head.toLowerCase(), body }
}

layer(serviceLayer())("An address", (it) => {
  const unknown: ReadonlyArray<readonly [method: string, path: string]> = [
    ["GET", "/docs/unknown"],
    ["GET", "/install/"],
    ["GET", "/v1"],
    ["GET", "/v1/"],
    ["GET", "/v1/_other"],
    ["POST", "/v1/_other"],
    ["GET", "/v1/_other/count"],
    ["POST", "/v1/_tables/upsert"],
    ["GET", "/v1/t/unknown"],
    ["GET", "/v1/t/count/more"],
    ["GET", "/v1/t/"],
    ["GET", "/v1//t"],
    ["GET", "/v1//count"],
    ["GET", "//v1/t"],
    ["GET", "/v2/t"],
    ["GET", "/V1/t"],
    ["GET", "/v1/t/COUNT"],
    ["GET", "/auth/unknown"],
    ["POST", "/auth/magic-link/"],
    ["PATCH", "/nowhere"],
    ["GET", "/v1/../v1/t"],
    ["GET", "/v1/./t"],
    ["GET", "/.git/config"],
    ["GET", "/v1/_keys/a/b"],
    ["GET", "/v1/_tables;a=1"],
    ["GET", "/health;"],
    ["GET", "/v1/_tables/%ff"]
  ]
  for (const [method, path] of unknown) {
    it.effect(`${method} ${path} is nowhere, with a key and without`, () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        for (const key of [undefined, apiKey]) {
          const answer = yield* wire(method, path, { key })
          assertProblem(answer, 404, "not_found")
          assert.isUndefined(answer.headers["location"])
          assert.isUndefined(answer.headers["ratelimit"])
        }
      })
    )
  }

  const wrongMethods: ReadonlyArray<readonly [method: string, path: string, allow: string]> = [
    ["PUT", "/v1/t", "DELETE, GET, HEAD, OPTIONS, POST"],
    ["PATCH", "/v1/t", "DELETE, GET, HEAD, OPTIONS, POST"],
    ["TRACE", "/v1/t", "DELETE, GET, HEAD, OPTIONS, POST"],
    ["PROPFIND", "/v1/t", "DELETE, GET, HEAD, OPTIONS, POST"],
    ["GET", "/v1/t/upsert", "OPTIONS, POST"],
    ["HEAD", "/v1/t/batch", "OPTIONS, POST"],
    ["GET", "/v1/t/update_row", "OPTIONS, POST"],
    ["DELETE", "/v1/t/update_where", "OPTIONS, POST"],
    ["PUT", "/v1/t/restore", "OPTIONS, POST"],
    ["POST", "/v1/t/count", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/t/versions", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/_tables", "GET, HEAD, OPTIONS"],
    ["DELETE", "/v1/_tables", "GET, HEAD, OPTIONS"],
    ["POST", "/v1/_export", "GET, HEAD, OPTIONS"],
    ["DELETE", "/v1/_keys", "GET, HEAD, OPTIONS, POST"],
    ["GET", "/v1/_keys/x", "DELETE, OPTIONS"],
    ["POST", "/v1/%5Ftables", "GET, HEAD, OPTIONS"],
    ["GET", "/auth/magic-link", "OPTIONS, POST"],
    ["PUT", "/auth/verify", "OPTIONS, POST"],
    ["TRACE", "/openapi.json", "GET, HEAD, OPTIONS"],
    ["POST", "/health", "GET, HEAD, OPTIONS"]
  ]
  for (const [method, path, allow] of wrongMethods) {
    it.effect(`P24 ${method} ${path} is not allowed; Allow lists what is`, () =>
      Effect.gen(function* () {
        const answer = yield* wire(method, path)
        if (method === "HEAD") assert.strictEqual(answer.status, 405)
        else assertProblem(answer, 405, "method_not_allowed")
        assert.strictEqual(answer.headers["allow"]?.split(", ").toSorted().join(", "), allow)
        const options = yield* wire("OPTIONS", path)
        assert.deepStrictEqual([options.status, options.text], [204, ""])
        assert.strictEqual(options.headers["allow"]?.split(", ").toSorted().join(", "), allow)
      })
    )
  }

  it.effect("P24 HEAD is GET without the body", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* wire("POST", "/v1/t", { key, body: '{"a":"é"}' })
      for (const path of ["/v1/t", "/v1/t/count", "/v1/_tables", "/v1/_keys", "/health", "/ready", "/openapi.json"]) {
        const get = yield* wire("GET", path, { key })
        const head = yield* wire("HEAD", path, { key })
        assert.deepStrictEqual([head.status, head.text], [200, ""])
        assert.strictEqual(head.headers["content-type"], get.headers["content-type"])
        assert.strictEqual(head.headers["content-length"], String(get.bytes.length), path)
      }
      assert.deepStrictEqual([(yield* wire("HEAD", "/v1/_export", { key })).text], [""])
      const refused = yield* wire("HEAD", "/v1/t")
      assert.deepStrictEqual([refused.status, refused.text], [401, ""])
      assert.strictEqual((yield* wire("HEAD", "/v1/t?limit=0", { key })).status, 400)
      assert.strictEqual((yield* wire("HEAD", "/nowhere")).status, 404)
    })
  )

  const badTables: ReadonlyArray<readonly [name: string, what: string]> = [
    ["a%2Fb", "a slash"],
    ["a%252Fb", "a slash, escaped twice"],
    ["%2e%2e", "two dots"],
    ["..%2f..%2fhealth", "a way up"],
    ["a%00", "NUL"],
    ["a+b", "a plus"],
    ["a%20b", "a space"],
    ["1a", "a digit first"],
    ["%5Fother", "an escaped underscore"],
    ["a#b", "a hash"],
    ["a%3Bb", "an escaped semicolon"],
    ["a%3Fb", "an escaped question mark"],
    ["a.b", "a dot"],
    ["%C3%A9", "a letter with an accent"],
    ["%EF%BC%A1", "a full-width letter"],
    ["a%0A", "a line break"],
    ["-a", "a hyphen first"],
    ["a;b", "a semicolon"],
    ["%ff", "a byte that is no UTF-8"],
    ["%", "an unfinished escape"],
    ["%zz", "an escape that is none"],
    ["%c3%28", "ill-formed UTF-8"],
    ["a".repeat(65), "65 characters"],
    ["a".repeat(9000), "9,000 characters"]
  ]
  for (const [name, what] of badTables) {
    it.effect(`P19 a table name with ${what} (${name.slice(0, 20)}) is refused on every operation`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        yield* wire("POST", "/v1/a", { key, body: '{"secret":1}' })
        const requests: ReadonlyArray<readonly [string, string, string?]> = [
          ["GET", ""],
          ["POST", "", "{}"],
          ["DELETE", "", '{"filter":{"a":1}}'],
          ["GET", "/count"],
          ["GET", "/versions?id=x"],
          ["POST", "/upsert", '{"key":"a","row":{"a":1}}'],
          ["POST", "/batch", '{"operations":[{"action":"add","row":{}}]}'],
          ["POST", "/update_row", '{"id":"x","patch":{}}'],
          ["POST", "/update_where", '{"filter":{"a":1},"patch":{}}'],
          ["POST", "/restore", '{"id":"x","version":1}']
        ]
        for (const [method, rest, body] of requests) {
          const answer = yield* wire(method, `/v1/${name}${rest}`, { key, body })
          const { code, status } = jsonOf<ProblemBody>(answer)
          assert.include(["400 invalid_table_name", "404 not_found"], `${status} ${code}`, `${method} ${rest}`)
          assertProblem(answer, status, code)
        }
        assert.strictEqual((yield* wire("GET", "/v1/_tables", { key })).text, '{"tables":[{"name":"a","rows":1}]}')
      })
    )
  }

  it.effect("a table name may have 64 characters, and the names of operations and of Object's members", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const names = [`A${"z-_9".repeat(15)}xyz`, "a", "count", "constructor", "toString", "hasOwnProperty", "valueOf"]
      for (const name of names) {
        assert.strictEqual((yield* wire("POST", `/v1/${name}`, { key, body: "{}" })).status, 201)
        assert.strictEqual((yield* wire("GET", `/v1/${name}/count`, { key })).text, '{"count":1}')
      }
      assert.strictEqual((yield* wire("GET", "/v1/%63ount/count", { key })).text, '{"count":1}')
      const { tables } = jsonOf<{ tables: Record<string, Array<unknown>> }>(yield* wire("GET", "/v1/_export", { key }))
      assert.sameMembers(Object.keys(tables), names)
    })
  )

  it.effect("a key's id may be any text: an unknown one revokes nothing", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const id of ["x", "x".repeat(2000), "%00", "a%2Fb", "%C3%A9", "a+b", "%ED%A0%80x", "..", "a.b"]) {
        const answer = yield* wire("DELETE", `/v1/_keys/${id}`, { key })
        if (id.startsWith("%ED")) assertProblem(answer, 404, "not_found")
        else assert.deepStrictEqual([answer.status, answer.text], [200, '{"revoked":0}'], id)
      }
    })
  )

  it.effect("headers beyond 32 KB are refused, also as a long address", () =>
    Effect.gen(function* () {
      const long = "x".repeat(40_000)
      for (const request of [
        `GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: ${long}\r\n\r\n`,
        `GET /health?${long} HTTP/1.1\r\nHost: localhost\r\n\r\n`
      ]) {
        const { body, head, status } = parse(yield* raw(request))
        assert.strictEqual(status, 431)
        assert.include(head, "content-type: application/problem+json")
        assert.deepInclude<object>(jsonOf({ text: body }), { type: "/docs/errors#headers_too_large", status: 431 })
      }
    })
  )

  it.effect("P23 what is not HTTP gets 400 and a problem body", () =>
    Effect.gen(function* () {
      for (const request of [
        "hello\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nBad Header: x\r\n\r\n",
        "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
      ]) {
        const { body, head, status } = parse(yield* raw(request))
        assert.strictEqual(status, 400, request)
        assert.include(head, "content-type: application/problem+json")
        assert.deepInclude<object>(jsonOf({ text: body }), { status: 400, code: "invalid_request" })
      }
    })
  )
})
