import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, raw, wire } from "./Wire.ts"

const limit = 65_536

/** A row of exactly so many bytes of compact JSON. */
const rowOf = (bytes: number) => `{"t":"${"x".repeat(bytes - 8)}"}`

type Sender = readonly [what: string, status: number, place: string, send: (row: string) => readonly [string, string]]

const senders: ReadonlyArray<Sender> = [
  ["add", 413, "", (row) => ["/v1/t", row]],
  ["upsert", 400, "/row", (row) => ["/v1/t/upsert", `{"key":"t","row":${row}}`]],
  [
    "batch",
    413,
    "/operations/1/row",
    (row) => ["/v1/t/batch", `{"operations":[{"action":"delete","filter":{"a":1}},{"action":"add","row":${row}}]}`]
  ]
]

layer(serviceLayer())("A row", (it) => {
  for (const [what, status, place, send] of senders) {
    it.effect(`may have 65,536 bytes in ${what}, and not one more`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const [path, fits] = send(rowOf(limit))
        const stored = yield* wire("POST", path, { key, body: fits })
        assert.oneOf(stored.status, [200, 201], stored.text)
        assert.include((yield* wire("GET", "/v1/t", { key })).text, rowOf(limit).slice(1))
        const [, exceeds] = send(rowOf(limit + 1))
        const problem = assertProblem(yield* wire("POST", path, { key, body: exceeds }), status, "row_too_large")
        assert.deepInclude(problem, { limit, current: limit + 1 })
        assert.deepStrictEqual(pathsOf(problem), [place])
        assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":1}')
      })
    )
  }

  it.effect("is counted without white space, as UTF-8, escapes as they are spelled", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const spaced = rowOf(limit).replace("{", `{${" \n".repeat(5000)}`)
      assert.strictEqual((yield* wire("POST", "/v1/t", { key, body: spaced })).status, 201)
      const wide = `{"t":"${"é".repeat((limit - 8) / 2)}"}`
      assert.strictEqual((yield* wire("POST", "/v1/t", { key, body: wide })).status, 201)
      const sizes = {
        [`${wide.slice(0, -2)}x"}`]: limit + 1,
        [String.raw`{"t":"${"\\u0041".repeat(12_000)}"}`]: 72_008
      }
      for (const [body, current] of Object.entries(sizes)) {
        const problem = assertProblem(yield* wire("POST", "/v1/t", { key, body }), 413, "row_too_large")
        assert.strictEqual(problem.current, current)
      }
    })
  )

  it.effect("is counted without its system fields when it is sent back", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const added = yield* wire("POST", "/v1/t", { key, body: `{"k":1,${rowOf(limit - 6).slice(1)}` })
      const body = `{"key":"k","row":${added.text}}`
      assert.strictEqual((yield* wire("POST", "/v1/t/upsert", { key, body })).status, 200)
      const { id } = jsonOf<{ id: string }>(added)
      const patch = `{"id":"${id}","patch":{"t":"${"x".repeat(limit - 14)}"}}`
      assert.strictEqual((yield* wire("POST", "/v1/t/update_row", { key, body: patch })).status, 200)
    })
  )

  for (const operation of ["update_row", "update_where"]) {
    it.effect(`may not grow beyond the limit by ${operation}, which declares 400 for it`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const { id } = jsonOf<{ id: string }>(yield* wire("POST", "/v1/t", { key, body: rowOf(limit - 7) }))
        const patch = (text: string) =>
          wire("POST", `/v1/t/${operation}`, {
            key,
            body:
              operation === "update_row"
                ? `{"id":"${id}","patch":${text}}`
                : `{"filter":{"id":"${id}"},"patch":${text}}`
          })
        assert.strictEqual((yield* patch('{"a":10}')).status, 200)
        const problem = assertProblem(yield* patch('{"a":100}'), 400, "row_too_large")
        assert.deepInclude(problem, { limit, current: limit + 1 })
        assert.strictEqual((yield* patch('{"a":1}')).status, 200)
        assert.strictEqual(
          (yield* wire("GET", '/v1/t/count?filter={"a":1}'.replaceAll('"', "%22"), { key })).text,
          '{"count":1}'
        )
      })
    )
  }
})

layer(serviceLayer())("A patch longer than a row", (it) => {
  const patch = rowOf(limit + 1)
  const calls: ReadonlyArray<readonly [operation: string, status: number, place: string, body: string]> = [
    ["update_row", 400, "/patch", `{"id":"none","patch":${patch}}`],
    ["update_where", 400, "/patch", `{"filter":{"a":1},"patch":${patch}}`],
    [
      "batch",
      413,
      "/operations/1/patch",
      `{"operations":[{"action":"add","row":{}},{"action":"update_where","filter":{"a":1},"patch":${patch}}]}`
    ]
  ]
  for (const [operation, status, place, body] of calls) {
    it.effect(`is refused by ${operation} though no row matches`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const answer = yield* wire("POST", `/v1/t/${operation}`, { key, body })
        const problem = assertProblem(answer, status, "row_too_large")
        assert.deepInclude(problem, { limit, current: limit + 1 })
        assert.deepStrictEqual(pathsOf(problem), [place])
      })
    )
  }
})

layer(serviceLayer({ LIMIT_REQUEST_BYTES: "200000" }))("A body", (it) => {
  const paths: ReadonlyArray<readonly [method: string, path: string, status: number, limit?: number]> = [
    ["POST", "/v1/t", 413],
    ["POST", "/v1/t/batch", 413],
    ["POST", "/v1/t/upsert", 400],
    ["POST", "/v1/t/update_row", 400],
    ["POST", "/v1/t/update_where", 400],
    ["POST", "/v1/t/restore", 400],
    ["DELETE", "/v1/t", 400],
    ["POST", "/v1/_keys", 400, 16_384]
  ]
  for (const [method, path, status, most = 200_000] of paths) {
    it.effect(`of ${method} ${path} is refused with ${status} beyond its limit, with a length or chunked`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const body = `{"t":"${"x".repeat(200_000)}"}`
        assert.strictEqual(
          assertProblem(yield* wire(method, path, { key, body }), status, "request_too_large").limit,
          most
        )
        const chunk = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`
        const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${key}\r\n`
        const answer = yield* raw(`${head}Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}`)
        assert.strictEqual(answer.slice(9, 12), String(status), answer)
        assert.include(answer, '"request_too_large"')
        assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, '{"count":0}')
      })
    )
  }

  it.effect("that announces too many bytes is refused before any of them comes", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const head = "POST /v1/t HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 10000000\r\n"
      const withKey = yield* raw(`${head}Authorization: Bearer ${key}\r\n\r\n`)
      assert.strictEqual(withKey.slice(9, 12), "413")
      const without = yield* raw(`${head}\r\n`)
      assert.strictEqual(without.slice(9, 12), "401")
    })
  )

  it.effect("of a sign-in may have 16 KB", () =>
    Effect.gen(function* () {
      const padded = (bytes: number) => '{"email":"ada@example.com"}'.padEnd(bytes)
      assert.strictEqual((yield* wire("POST", "/auth/magic-link", { body: padded(16_384) })).status, 200)
      const answer = yield* wire("POST", "/auth/magic-link", { body: padded(16_385) })
      assert.strictEqual(assertProblem(answer, 400, "request_too_large").limit, 16_384)
    })
  )

  it.effect("that makes a key may have 16 KB", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const padded = (bytes: number) => '{"name":"one"}'.padEnd(bytes)
      assert.strictEqual((yield* wire("POST", "/v1/_keys", { key, body: padded(16_384) })).status, 201)
      const answer = yield* wire("POST", "/v1/_keys", { key, body: padded(16_385) })
      assert.strictEqual(assertProblem(answer, 400, "request_too_large").limit, 16_384)
    })
  )

  const types: Record<string, number> = {
    "application/json": 201,
    "application/json; charset=utf-8": 201,
    'application/json; charset="UTF-8"': 201,
    "APPLICATION/JSON;Charset=UTF8": 201,
    "application/json; charset=latin1": 400,
    "application/json; charset=utf-16": 400,
    "application/json; charset=": 400,
    "text/json": 415,
    "text/plain": 415,
    "application/x-www-form-urlencoded": 415,
    "multipart/form-data; boundary=x": 415,
    "application/jsonx": 415,
    "": 415
  }
  for (const [type, status] of Object.entries(types)) {
    it.effect(`of type "${type}" gets ${status}`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const answer = yield* wire("POST", "/v1/t", { key, body: "{}", headers: { "content-type": type } })
        if (status === 400) {
          assert.deepStrictEqual(pathsOf(assertProblem(answer, 400, "invalid_request")), ["content-type"])
        } else if (status === 415) assertProblem(answer, 415, "unsupported_media_type")
        else assert.strictEqual(answer.status, status, answer.text)
        assert.strictEqual((yield* wire("GET", "/v1/t/count", { key })).text, `{"count":${status === 201 ? 1 : 0}}`)
      })
    )
  }

  it.effect("that is empty and of another type gets 415 as a problem too", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const method of ["POST", "DELETE"]) {
        const answer = yield* wire(method, "/v1/t", { key, body: "", headers: { "content-type": "text/plain" } })
        assertProblem(answer, 415, "unsupported_media_type")
      }
    })
  )
})

layer(serviceLayer({ LIMIT_ROW_BYTES: "1000" }))("A body about rows", (it) => {
  const bodyLimit = 71_536
  const paths: ReadonlyArray<readonly [method: string, path: string, status: number, body: string]> = [
    ["POST", "/v1/t", 413, "{}"],
    ["POST", "/v1/t/upsert", 400, '{"key":"k","row":{"k":1}}'],
    ["POST", "/v1/t/update_row", 400, '{"id":"none","patch":{}}'],
    ["POST", "/v1/t/update_where", 400, '{"filter":{"k":1},"patch":{}}'],
    ["POST", "/v1/t/restore", 400, '{"id":"none","version":1}'],
    ["DELETE", "/v1/t", 400, '{"filter":{"k":1}}']
  ]
  for (const [method, path, status, body] of paths) {
    it.effect(`has six times a row and 64 KB at most in ${method} ${path}, which refuses more with ${status}`, () =>
      Effect.gen(function* () {
        const { apiKey: key } = yield* newAccount
        const fits = yield* wire(method, path, { key, body: body.padEnd(bodyLimit) })
        assert.notInclude(fits.text, "request_too_large")
        const exceeds = yield* wire(method, path, { key, body: body.padEnd(bodyLimit + 1) })
        assert.strictEqual(assertProblem(exceeds, status, "request_too_large").limit, bodyLimit)
      })
    )
  }

  it.effect("may have more in a batch", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const body = '{"operations":[{"action":"add","row":{}}]}'.padEnd(1_000_000)
      assert.strictEqual((yield* wire("POST", "/v1/t/batch", { key, body })).status, 200)
    })
  )
})
