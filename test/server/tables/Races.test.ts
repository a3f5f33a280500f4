import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"

const together = <A, E, R>(count: number, run: (index: number) => Effect.Effect<A, E, R>) =>
  Effect.forEach(
    Array.from({ length: count }, (_, index) => index),
    run,
    { concurrency: "unbounded" }
  )

const statuses = (answers: ReadonlyArray<Answer>) => [...new Set(answers.map((answer) => answer.status))]

layer(serviceLayer(), { excludeTestServices: true })("Requests that race", (it) => {
  it.effect("P1 make one row of 20 parallel adds with one idempotency key, and all get its answer", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const headers = { "idempotency-key": "once" }
      const answers = yield* together(20, () => request("POST", "/v1/notes", { key, headers, body: '{"a":1}' }))
      assert.deepStrictEqual(statuses(answers), [201])
      assert.strictEqual(new Set(answers.map((answer) => answer.text)).size, 1)
      const replayed = answers.filter((answer) => answer.headers.get("idempotent-replayed") === "true")
      assert.strictEqual(replayed.length, 19)
      assert.strictEqual((yield* request("GET", "/v1/notes/count", { key })).text, '{"count":1}')
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("P3 never show one account's answer to another that uses the same idempotency key", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const [mine, theirs] = [yield* newAccount, yield* newAccount]
      const { api_key: otherKey } = yield* keys.create(wholeAccount(mine.accountId), "other")
      const add = (key: string) =>
        request("POST", "/v1/notes", { key, headers: { "idempotency-key": "shared" }, body: '{"a":1}' })
      const [first, foreign, again] = yield* Effect.all([add(mine.apiKey), add(theirs.apiKey), add(otherKey)], {
        concurrency: "unbounded"
      })
      assert.notStrictEqual(foreign.text, first.text)
      assert.isNull(foreign.headers.get("idempotent-replayed"))
      assert.strictEqual(again.text, first.text)
      const replayed = [first, again].map((answer) => answer.headers.get("idempotent-replayed"))
      assert.sameMembers(replayed, [null, "true"])
    })
  )

  it.effect("P5 make one row of 40 parallel upserts of one new key, however it is spelled", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const spellings = [
        '{"key":["a","b"],"row":{"a":1,"b":"x"}}',
        '{"key":["b","a"],"row":{"b":"x","a":1.0}}',
        '{"key":["b","a"],"row":{"a":10e-1,"b":"\\u0078"}}',
        '{"row":{"b":"x","a":1.00},"key":["a","b"]}'
      ]
      const answers = yield* together(40, (index) =>
        request("POST", "/v1/fresh/upsert", { key, body: spellings[index % 4]! })
      )
      assert.deepStrictEqual(statuses(answers), [200])
      const bodies = answers.map((answer) => bodyOf<{ created: boolean; row: { id: string } }>(answer))
      assert.strictEqual(bodies.filter((body) => body.created).length, 1)
      assert.strictEqual(new Set(bodies.map((body) => body.row.id)).size, 1)
      const text = yield* request("POST", "/v1/fresh/upsert", { key, body: '{"key":"a","row":{"a":"1"}}' })
      assert.isTrue(bodyOf<{ created: boolean }>(text).created)
      assert.strictEqual((yield* request("GET", "/v1/fresh/count", { key })).text, '{"count":2}')
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("P6 keep every field of 50 parallel patches of one row, at growing times", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = bodyOf<{ id: string }>(yield* request("POST", "/v1/notes", { key, body: "{}" }))
      const answers = yield* together(50, (index) =>
        request("POST", "/v1/notes/update_row", { key, body: `{"id":"${id}","patch":{"f${index}":${index}}}` })
      )
      assert.deepStrictEqual(statuses(answers), [200])
      const times = answers.map((answer) => bodyOf<{ row: { updated_at: string } }>(answer).row.updated_at)
      assert.strictEqual(new Set(times).size, 50)
      const { rows } = bodyOf<{ rows: ReadonlyArray<Record<string, unknown>> }>(
        yield* request("GET", "/v1/notes", { key })
      )
      for (let index = 0; index < 50; index++) assert.strictEqual(rows[0]![`f${index}`], index)
      assert.strictEqual(rows[0]!["updated_at"], times.toSorted().at(-1))
    })
  )

  it.effect("P6 let 30 pairs of batches change the same rows in opposite order", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const added = yield* request("POST", "/v1/notes/batch", {
        key,
        body: '{"operations":[{"action":"add","row":{"n":0}},{"action":"add","row":{"n":0}}]}'
      })
      const ids = bodyOf<{ results: ReadonlyArray<{ result: { id: string } }> }>(added).results.map(
        ({ result }) => result.id
      )
      const answers = yield* together(60, (index) => {
        const operations = (index % 2 === 0 ? ids : ids.toReversed()).map((id) => ({
          action: "update_row",
          id,
          patch: { [`by${index}`]: true, n: index }
        }))
        return request("POST", "/v1/notes/batch", { key, body: JSON.stringify({ operations }) })
      })
      assert.deepStrictEqual(statuses(answers), [200])
      const { rows } = bodyOf<{ rows: ReadonlyArray<Record<string, unknown>> }>(
        yield* request("GET", "/v1/notes", { key })
      )
      assert.strictEqual(rows[0]!["n"], rows[1]!["n"])
      for (const row of rows) assert.strictEqual(Object.keys(row).filter((name) => name.startsWith("by")).length, 60)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})
