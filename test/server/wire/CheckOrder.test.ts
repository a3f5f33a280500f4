import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, raw, wire } from "./Wire.ts"

const oversized = "x".repeat(100_001)

const post = (path: string, body: string, headers: Record<string, string>) => wire("POST", path, { body, headers })

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "6", LIMIT_REQUEST_BYTES: "100000" }))("Checks", (it) => {
  const spent = Effect.gen(function* () {
    const { apiKey: key } = yield* newAccount
    for (let n = 0; n < 6; n++) assert.strictEqual((yield* wire("POST", "/v1/t", { key, body: "{}" })).status, 201)
    return key
  })

  it.effect("go from the address to the key, the rate limit, the size, and then what the request says", () =>
    Effect.gen(function* () {
      const authorization = `Bearer ${yield* spent}`
      const plain = { "content-type": "text/plain" }
      assertProblem(yield* post("/v1/_other", oversized, plain), 404, "not_found")
      assertProblem(yield* wire("PUT", "/v1/t", { body: oversized, headers: plain }), 405, "method_not_allowed")
      for (const path of ["/v1/t", "/v1/1t", "/v1/t?unknown=1", "/v1/t?filter=%"]) {
        assertProblem(yield* post(path, oversized, plain), 401, "unauthenticated")
        assertProblem(yield* post(path, oversized, { ...plain, authorization }), 429, "rate_limited")
      }
      const later: ReadonlyArray<readonly [path: string, status: number, code: string]> = [
        ["/v1/t", 415, "unsupported_media_type"],
        ["/v1/1t", 415, "unsupported_media_type"],
        ["/v1/1t/upsert", 415, "unsupported_media_type"]
      ]
      for (const [path, status, code] of later) {
        const { apiKey: key } = yield* newAccount
        const headers = { authorization: `Bearer ${key}`, ...plain }
        assertProblem(yield* post(path, oversized, headers), path.endsWith("upsert") ? 400 : 413, "request_too_large")
        assertProblem(yield* post(path, "x", headers), status, code)
        assertProblem(
          yield* wire("POST", path, { key, body: "x" }),
          400,
          path === "/v1/t" ? "invalid_json" : "invalid_table_name"
        )
      }
    })
  )

  it.effect("of key and rate limit come before any of the body is read", () =>
    Effect.gen(function* () {
      const key = yield* spent
      const head = "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 50000\r\n"
      assert.strictEqual((yield* raw(`${head}\r\n{`)).slice(9, 12), "401")
      assert.strictEqual((yield* raw(`${head}Authorization: Bearer ${key}\r\n\r\n{`)).slice(9, 12), "429")
    })
  )

  it.effect("of the request come before those of the rows", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const body = '{"id":"unknown","patch":[]}'
      assertProblem(yield* wire("POST", "/v1/t/update_row", { key, body }), 400, "invalid_request")
      const reserved = '{"id":"unknown","patch":{"id":"x"}}'
      assertProblem(yield* wire("POST", "/v1/t/update_row", { key, body: reserved }), 404, "row_not_found")
    })
  )

  it.effect("for a replay come before the rows are looked at, and after validation", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = jsonOf<{ id: string }>(yield* wire("POST", "/v1/t", { key, body: '{"a":1}' }))
      const headers = { "idempotency-key": "k" }
      const update = (patch: string) =>
        wire("POST", "/v1/t/update_row", { key, headers, body: `{"id":"${id}","patch":${patch}}` })
      const first = yield* update('{"a":2}')
      assert.include((yield* wire("DELETE", "/v1/t", { key, body: '{"filter":{"a":2}}' })).text, '{"deleted":1,')
      const again = yield* update('{"a":2}')
      assert.deepStrictEqual([again.status, again.text], [200, first.text])
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assert.isUndefined(first.headers["idempotent-replayed"])
      assertProblem(yield* update("[]"), 400, "invalid_request")
      assertProblem(yield* update('{"a":3}'), 400, "idempotency_key_reused")
      assertProblem(yield* update('{"a":2}'), 429, "rate_limited")
    })
  )

  const badKeys = ["", "Bearer", "Bearer ", "Basic abc", "Bearer svc_live_x", "Bearer  x", "bearer", "Bearer \xff"]
  for (const authorization of badKeys) {
    it.effect(`refuse ${JSON.stringify(authorization)} for a key`, () =>
      Effect.gen(function* () {
        const answer = yield* wire("GET", "/v1/t", { headers: { authorization } })
        const problem = assertProblem(answer, 401, "unauthenticated")
        const without = assertProblem(yield* wire("GET", "/v1/t"), 401, "unauthenticated")
        assert.deepStrictEqual({ ...problem, request_id: "" }, { ...without, request_id: "" })
        assert.strictEqual(answer.headers["www-authenticate"], "Bearer")
      })
    )
  }

  it.effect("take the scheme of a key in any case, as HTTP has it", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const scheme of ["Bearer", "bearer", "BEARER"]) {
        const answer = yield* wire("GET", "/v1/t", { headers: { authorization: `${scheme} ${key}` } })
        assert.strictEqual(answer.status, 200, scheme)
      }
    })
  )
})
