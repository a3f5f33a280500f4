import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { gzipSync } from "node:zlib"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

interface Case {
  readonly call: string
  readonly body?: string
  /** Of the first place: where it is, and what is said of it. */
  readonly says: readonly [path: string, message: string]
}

const operations = (...all: ReadonlyArray<string>) => `{"operations":[${all.join()}]}`
const action = "must be a JSON object whose action is add, upsert, update_row, update_where or delete"
const scalar = "must be a string, number, boolean or null, or an object of operators"
const name = "must have 1 to 80 characters"

const cases: ReadonlyArray<Case> = [
  { call: "POST /v1/t/batch", body: operations('{"action":"insert"}'), says: ["/operations/0", action] },
  { call: "POST /v1/t/batch", body: operations("1"), says: ["/operations/0", action] },
  { call: "POST /v1/t/batch", body: operations("{}"), says: ["/operations/0", action] },
  { call: "POST /v1/t/batch", body: operations('{"action":"add"}'), says: ["/operations/0/row", "is required"] },
  {
    call: "POST /v1/t/batch",
    body: operations('{"action":"add","row":{},"upsert":true}'),
    says: ["/operations/0/upsert", "is not known here; known are action, row, idempotencyKey"]
  },
  {
    call: "POST /v1/t/batch",
    body: operations('{"action":"update_where","filter":{"a":1},"patch":{},"allowMultiple":"yes"}'),
    says: ["/operations/0/allowMultiple", "must be true or false"]
  },
  {
    call: "POST /v1/t/batch",
    body: operations('{"action":"add","row":{},"idempotencyKey":""}'),
    says: ["/operations/0/idempotencyKey", "must be 1 to 255 printable ASCII characters"]
  },
  { call: "POST /v1/t/batch", body: '{"operations":{}}', says: ["/operations", "must be an array"] },
  {
    call: "POST /v1/t/batch",
    body: '{"operations":[]}',
    says: ["/operations", "must hold 1 to 100 operations, and holds 0"]
  },
  { call: "POST /v1/t/upsert", body: "[]", says: ["", "must be a JSON object"] },
  { call: "POST /v1/t", body: "[]", says: ["", "must be a JSON object"] },
  {
    call: "POST /v1/t/upsert",
    body: '{"key":[],"row":{}}',
    says: ["/key", "must name at least one field"]
  },
  {
    call: "POST /v1/t/upsert",
    body: '{"key":1,"row":{}}',
    says: ["/key", "must be the name of a field, or an array of names"]
  },
  {
    call: "POST /v1/t/upsert",
    body: '{"key":"a","row":{"a":1},"table":"t"}',
    says: ["/table", "is not known here; known are key, row, ifUpdatedAt"]
  },
  { call: "POST /v1/_keys", body: '{"name":"a","table":"t"}', says: ["/table", "is not known here; known are name"] },
  { call: "POST /v1/t/upsert", body: '{"key":[1],"row":{"1":1}}', says: ["/key/0", "must be a string"] },
  { call: "POST /v1/t/upsert", body: '{"key":"a","row":[]}', says: ["/row", "must be a JSON object"] },
  { call: "POST /v1/t/upsert", body: '{"key":"a","row":{}}', says: ["/key", 'names "a", which is not in row'] },
  {
    call: "POST /v1/t/update_where",
    body: '{"filter":{"a/b":[]},"patch":{}}',
    says: ["/filter/a~1b", scalar]
  },
  { call: "POST /v1/t/update_row", body: '{"id":7,"patch":{}}', says: ["/id", "must be a string"] },
  {
    call: "POST /v1/t/restore",
    body: '{"id":"a","version":0}',
    says: ["/version", "must be a whole number from 1"]
  },
  {
    call: "POST /v1/t/restore",
    body: '{"id":"a","version":1.5}',
    says: ["/version", "must be a whole number from 1"]
  },
  {
    call: "POST /v1/t/restore",
    body: '{"id":"a","version":"1"}',
    says: ["/version", "must be a number: a whole number from 1"]
  },
  {
    call: "DELETE /v1/t",
    body: '{"filer":{"a":1}}',
    says: ["/filer", "is not known here; known are filter, search, all, forever, ifUpdatedAt"]
  },
  { call: "GET /v1/t?filter=%7B%22a%22%3A%5B%5D%7D", says: ["filter/a", scalar] },
  { call: "GET /v1/t?filter=1", says: ["filter", "must be a JSON object of field names and values"] },
  {
    call: "GET /v1/t?fliter=1",
    says: ["fliter", "is not known here; known are filter, search, sort, limit, fields, cursor"]
  },
  { call: "GET /v1/t?sort=a&sort=b", says: ["sort", "must be given once"] },
  { call: "GET /v1/t?sort=", says: ["sort", "must name a field"] },
  { call: "GET /v1/t?limit=1001", says: ["limit", "must be a whole number from 1 to 1000"] },
  { call: "GET /v1/t/versions", says: ["id", "is required"] },
  { call: "POST /v1/_keys", body: '{"name":""}', says: ["/name", name] },
  { call: "POST /v1/_keys", body: `{"name":"${"n".repeat(81)}"}`, says: ["/name", name] },
  { call: "POST /v1/_keys", body: '{"name":"\\u0000"}', says: ["/name", "must be Unicode text without NUL"] },
  {
    call: "POST /v1/_keys",
    body: '{"name":"a","scope":"*"}',
    says: ["/scope", "is not known here; known are name"]
  },
  {
    call: "POST /auth/magic-link",
    body: '{"email":"nobody"}',
    says: ["/email", "must be one plain e-mail address of at most 254 ASCII characters"]
  }
]

layer(serviceLayer(), { excludeTestServices: true })("A request that does not fit", (it) => {
  it.effect("is told the rule of table names where it asks for a table that no name allows", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const answer = yield* request("POST", "/v1/_tasks", { key: apiKey, body: "{}" })
      assert.strictEqual(answer.status, 404)
      assert.match(bodyOf<{ hint: string }>(answer).hint, /a letter and then letters, digits, _ or -/)
    })
  )

  it.effect("is told to come uncompressed", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const headers = { "content-encoding": "gzip" }
      const answer = yield* request("POST", "/v1/t", { key: apiKey, body: new Uint8Array(gzipSync("{}")), headers })
      assert.strictEqual(answer.status, 415)
      assert.match(bodyOf<{ hint: string }>(answer).hint, /without Content-Encoding/)
    })
  )

  it.effect("takes an Idempotency-Key of 255 characters, in quotes too, and none of 256", () =>
    Effect.gen(function* () {
      const { apiKey } = yield* newAccount
      const add = (key: string) =>
        Effect.map(
          request("POST", "/v1/t", { key: apiKey, body: "{}", headers: { "idempotency-key": key } }),
          ({ status, text }) => [status, status === 201 ? (JSON.parse(text) as { id: string }).id : ""]
        )
      const longest = "k".repeat(255)
      const bare = yield* add(longest)
      assert.strictEqual(bare[0], 201)
      assert.deepStrictEqual(yield* add(`"${longest}"`), bare)
      assert.strictEqual((yield* add(`${longest}k`))[0], 400)
      assert.strictEqual((yield* add(`"${longest}k"`))[0], 400)
    })
  )

  for (const { body, call, says } of cases) {
    const [path, message] = says
    it.effect(`${call} ${(body ?? "").slice(0, 60)} is told that ${path || "the body"} ${message}`, () =>
      Effect.gen(function* () {
        const { apiKey } = yield* newAccount
        const [method, address] = call.split(" ") as [string, string]
        const answer = yield* request(method, address, { key: apiKey, body })
        assert.strictEqual(answer.status, 400)
        const problem = bodyOf<{
          detail: string
          errors: ReadonlyArray<{ parameter?: string; path?: string; message: string }>
        }>(answer)
        const { parameter = "", path: pointer = "", message: said } = problem.errors[0]!
        assert.deepStrictEqual([parameter + pointer, said], [path, message])
        assert.strictEqual(problem.detail, `${path === "" ? "The body" : path} ${message}.`)
      })
    )
  }
})
