import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { setClock } from "../../support/Database.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"

const problemOf = (answer: Answer): Record<string, unknown> => bodyOf(answer)

const isReplayed = (answer: Answer) => answer.headers.get("idempotent-replayed") === "true"

const send = (key: string, path: string, body: unknown, idempotencyKey = "once", method = "POST") =>
  request(method, `/v1/${path}`, {
    key,
    body: typeof body === "string" ? body : JSON.stringify(body),
    headers: { "idempotency-key": idempotencyKey }
  })

const count = Effect.fnUntraced(function* (key: string, table = "notes") {
  return bodyOf<{ count: number }>(yield* request("GET", `/v1/${table}/count`, { key })).count
})

layer(serviceLayer({ LIMIT_ROWS_PER_TABLE: "3" }), { excludeTestServices: true })("Idempotency keys", (it) => {
  it.effect("replay every kind of write and write nothing twice", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const { id } = bodyOf<{ id: string }>(yield* request("POST", "/v1/notes", { key, body: '{"k":1}' }))
      const writes: ReadonlyArray<readonly [string, unknown, string?]> = [
        ["notes", { a: 1 }],
        ["notes/upsert", { key: "k", row: { k: 1, n: 1 } }],
        ["notes/update_row", { id, patch: { n: 2 } }],
        ["notes/update_where", { filter: { k: 1 }, patch: { n: 3 } }],
        ["notes/batch", { operations: [{ action: "update_row", id, patch: { n: 4 } }] }],
        ["notes", { filter: { k: 1 } }, "DELETE"],
        ["notes/restore", { id, version: 1 }]
      ]
      for (const [path, body, method] of writes) {
        const first = yield* send(key, path, body, "once", method)
        const again = yield* send(key, path, body, "once", method)
        assert.isFalse(isReplayed(first), path)
        assert.isTrue(isReplayed(again), path)
        assert.deepStrictEqual([again.status, again.text], [first.status, first.text])
      }
      const listed = yield* request("GET", `/v1/notes/versions?id=${id}`, { key })
      assert.strictEqual(bodyOf<{ versions: ReadonlyArray<unknown> }>(listed).versions.length, 5)
      assert.strictEqual(yield* count(key), 2)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are refused for another request: 409 where it is declared, else 400", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const writes: ReadonlyArray<readonly [string, unknown, unknown, number, string?]> = [
        ["notes", { a: 1 }, { a: 2 }, 400],
        ["notes/upsert", { key: "k", row: { k: 1 } }, { key: "k", row: { k: 1, n: 1 } }, 400],
        [
          "notes/update_where",
          { filter: { k: 1 }, patch: { n: 3 } },
          { filter: { k: 1 }, patch: { n: 3 }, allowMultiple: true },
          409
        ],
        [
          "notes/batch",
          { operations: [{ action: "delete", filter: { z: 1 } }] },
          { operations: [{ action: "delete", filter: { z: 2 } }] },
          409
        ],
        ["notes", { filter: { z: 1 } }, { filter: { z: 2 } }, 400, "DELETE"]
      ]
      for (const [path, body, other, status, method] of writes) {
        assert.isBelow((yield* send(key, path, body, "once", method)).status, 300, path)
        const refused = yield* send(key, path, other, "once", method)
        assert.deepStrictEqual([refused.status, bodyOf(refused)["code"]], [status, "idempotency_key_reused"], path)
        assert.isTrue(isReplayed(yield* send(key, path, body, "once", method)), path)
      }
    })
  )

  it.effect("are of one operation and one table", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (const [path, body] of [
        ["notes", { k: 1 }],
        ["other", { k: 1 }],
        ["notes/upsert", { key: "k", row: { k: 1 } }]
      ] as const) {
        const answer = yield* send(key, path, body)
        assert.isBelow(answer.status, 300)
        assert.isFalse(isReplayed(answer))
      }
    })
  )

  it.effect("are the same with and without quotes, and white space in the body does not count", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const first = yield* send(key, "notes", '{"a":1}', '"abc"')
      const again = yield* send(key, "notes", ' { "a" : 1 }\n', "abc")
      assert.isTrue(isReplayed(again))
      assert.strictEqual(again.text, first.text)
      assert.strictEqual(bodyOf(yield* send(key, "notes", '{"a":1.0}', "abc"))["code"], "idempotency_key_reused")
    })
  )

  it.effect("have 1 to 255 printable characters", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      assert.strictEqual((yield* send(key, "notes", "{}", "~".repeat(255))).status, 201)
      for (const bad of ["~".repeat(256), "é", "a\tb"]) {
        const refused = yield* send(key, "notes", "{}", bad)
        assert.deepStrictEqual([refused.status, bodyOf(refused)["code"]], [400, "invalid_request"])
      }
      assert.strictEqual(yield* count(key), 1)
    })
  )

  it.effect("of a failed write may be used again", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      for (let n = 0; n < 3; n++) yield* request("POST", "/v1/notes", { key, body: `{"n":${n}}` })
      assert.strictEqual(bodyOf(yield* send(key, "notes", { n: 4 }))["code"], "row_limit")
      assert.strictEqual(bodyOf(yield* send(key, "notes", { id: 4 }))["code"], "reserved_field")
      yield* request("DELETE", "/v1/notes", { key, body: '{"filter":{"n":0}}' })
      const stored = yield* send(key, "notes", { n: 5 })
      assert.strictEqual(stored.status, 201)
      assert.isFalse(isReplayed(stored))
      // A replay comes before the limits and the state of the table.
      yield* request("DELETE", "/v1/notes", { key, body: '{"filter":{"n":5}}' })
      yield* request("POST", "/v1/notes", { key, body: "{}" })
      assert.strictEqual((yield* send(key, "notes", { n: 5 })).text, stored.text)
    })
  )

  it.effect("of an add in a batch that was refused may be used again", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const operations = [
        { action: "add", row: { a: 1 }, idempotencyKey: "again" },
        { action: "update_row", id: "none", patch: {} }
      ]
      const refused = yield* request("POST", "/v1/notes/batch", { key, body: JSON.stringify({ operations }) })
      assert.strictEqual(refused.status, 404)
      const stored = yield* send(key, "notes", '{"a":1}', "again")
      assert.strictEqual(stored.status, 201)
      assert.isFalse(isReplayed(stored))
      assert.strictEqual(yield* count(key), 1)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("of an add in a batch and of an add alone are one", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const alone = yield* send(key, "notes", '{"a":1}', "alone")
      const operations = [
        { action: "add", row: { a: 1 }, idempotencyKey: "alone" },
        { action: "add", row: { a: 2 }, idempotencyKey: '"batched"' },
        { action: "add", row: { a: 2 }, idempotencyKey: "batched" }
      ]
      const batch = yield* request("POST", "/v1/notes/batch", { key, body: JSON.stringify({ operations }) })
      const { results } = bodyOf<{ results: ReadonlyArray<{ result: unknown }> }>(batch)
      assert.deepStrictEqual(results[0]!.result, bodyOf(alone))
      assert.deepStrictEqual(results[2]!.result, results[1]!.result)
      assert.isFalse(isReplayed(batch))
      const again = yield* send(key, "notes", '{"a":2}', "batched")
      assert.isTrue(isReplayed(again))
      assert.deepStrictEqual(bodyOf(again), results[1]!.result)
      assert.strictEqual(yield* count(key), 2)
      const reused = [
        { action: "add", row: { a: 3 } },
        { action: "add", row: { a: 9 }, idempotencyKey: "batched" }
      ]
      const refused = yield* request("POST", "/v1/notes/batch", { key, body: JSON.stringify({ operations: reused }) })
      assert.strictEqual(refused.status, 409)
      assert.deepInclude(problemOf(refused), { code: "idempotency_key_reused", operation: 1 })
      assert.strictEqual(yield* count(key), 2)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})

layer(serviceLayer(), { excludeTestServices: true })("Idempotency keys after a day", (it) => {
  it.effect("are forgotten and may be used again, for another request too", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const first = yield* send(key, "notes", { a: 1 })
      yield* setClock("23 hours 59 minutes")
      assert.isTrue(isReplayed(yield* send(key, "notes", { a: 1 })))
      yield* setClock("24 hours 1 minute")
      const second = yield* send(key, "notes", { a: 2 })
      assert.strictEqual(second.status, 201)
      assert.isFalse(isReplayed(second))
      assert.notStrictEqual(second.text, first.text)
      const again = yield* send(key, "notes", { a: 2 })
      assert.isTrue(isReplayed(again))
      assert.strictEqual(again.text, second.text)
      assert.strictEqual(yield* count(key), 2)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are forgotten by an instance too that reads what was kept of them", () =>
    Effect.gen(function* () {
      yield* setClock("48 hours")
      const { accountId, apiKey: key } = yield* newAccount
      assert.strictEqual((yield* send(key, "notes", { a: 1 })).status, 201)
      yield* setClock("72 hours 1 minute")
      const { rowWrites } = yield* anotherInstance()
      const caller = yield* callerNow(accountId, "notes", "once")
      const second = yield* rowWrites.write(...caller, { action: "add", row: JsonText.trusted('{"a":2}') })
      assert.isFalse(second.replayed)
      assert.strictEqual(yield* count(key), 2)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})
