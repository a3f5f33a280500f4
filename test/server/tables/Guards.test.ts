import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"

interface Stored {
  readonly id: string
  readonly updated_at: string
  readonly n?: number
}

const started = Effect.gen(function* () {
  const { apiKey: key } = yield* newAccount
  const send = (path: string, body: object, headers: Record<string, string> = {}) =>
    request(path === "" ? "DELETE" : "POST", `/v1/t${path}`, { key, body: JSON.stringify(body), headers })
  const add = (body: string) =>
    Effect.map(request("POST", "/v1/t", { key, body }), (answer): Stored => bodyOf<Stored>(answer))
  const all = Effect.map(request("GET", "/v1/t", { key }), ({ text }) => text)
  return { key, send, add, all }
})

const conflictOf = (answer: Answer): unknown => {
  assert.strictEqual(answer.status, 409, answer.text)
  const { code, current } = bodyOf<{ code: string; current: unknown }>(answer)
  assert.strictEqual(code, "edit_conflict")
  return current
}

layer(serviceLayer({ LIMIT_WRITES_PER_MINUTE: "1000" }), { excludeTestServices: true })("A guard", (it) => {
  it.effect(
    "P40 lets a write to the row that was read through, and shows the row, exactly, where it changed since",
    () =>
      Effect.gen(function* () {
        const { add, all, send } = yield* started
        const row = yield* add('{"10":1.10,"k":"a"}')
        const { id } = row
        const old = row.updated_at
        assert.strictEqual((yield* send("/update_row", { id, ifUpdatedAt: old, patch: { n: 1 } })).status, 200)
        const before = yield* all
        const current = before.slice('{"rows":['.length, before.indexOf("],"))
        const writes = [
          yield* send("/update_row", { id, ifUpdatedAt: old, patch: { n: 2 } }),
          yield* send("/upsert", { key: "k", ifUpdatedAt: old, row: { k: "a" } }),
          yield* send("/update_where", { filter: { k: "a" }, ifUpdatedAt: old, patch: { n: 2 } }),
          yield* send("", { filter: { k: "a" }, ifUpdatedAt: old }),
          yield* send("/restore", { id, version: 1, ifUpdatedAt: old }),
          yield* send("/batch", { operations: [{ action: "delete", filter: { id }, ifUpdatedAt: old }] })
        ]
        for (const answer of writes) {
          conflictOf(answer)
          assert.include(answer.text, `"current":${current}`)
        }
        assert.strictEqual(yield* all, before)
      })
  )

  it.effect("is read from If-Match too, which any row that is there passes as *", () =>
    Effect.gen(function* () {
      const { add, send } = yield* started
      const { id, updated_at } = yield* add('{"k":"a"}')
      const patch = { n: 1 }
      const weak = yield* send("/update_row", { id, patch }, { "if-match": `W/"${updated_at}"` })
      assert.strictEqual((conflictOf(weak) as Stored).updated_at, updated_at)
      const listed = yield* send("/update_row", { id, patch }, { "if-match": `"other", "${updated_at}"` })
      assert.strictEqual(listed.status, 200, listed.text)
      conflictOf(yield* send("", { filter: { id } }, { "if-match": `"${updated_at}"` }))
      assert.strictEqual((yield* send("/upsert", { key: "k", row: { k: "a" } }, { "if-match": "*" })).status, 200)
      assert.isNull(conflictOf(yield* send("/upsert", { key: "k", row: { k: "b" } }, { "if-match": "*" })))
      const odd = yield* send("/update_row", { id, patch }, { "if-match": updated_at })
      assert.strictEqual(odd.status, 400)
      assert.deepStrictEqual(
        bodyOf<{ errors: ReadonlyArray<{ parameter: string }> }>(odd).errors.map(({ parameter }) => parameter),
        ["if-match"]
      )
      const both = yield* send("/update_row", { id, patch, ifUpdatedAt: updated_at }, { "if-match": "*" })
      assert.strictEqual(both.status, 400)
    })
  )

  it.effect("of null lets an upsert add, and never replace; one with a time never adds", () =>
    Effect.gen(function* () {
      const { send } = yield* started
      const upsert = (ifUpdatedAt: string | null) => send("/upsert", { key: "k", row: { k: "a" }, ifUpdatedAt })
      assert.isNull(conflictOf(yield* upsert("2026-01-01T00:00:00.000Z")))
      const added = yield* upsert(null)
      assert.strictEqual(added.status, 200, added.text)
      const { row } = bodyOf<{ row: Stored }>(added)
      assert.deepStrictEqual(conflictOf(yield* upsert(null)), row)
      assert.strictEqual((yield* upsert(row.updated_at)).status, 200)
    })
  )

  it.effect("of many rows lets the write through to all of them, or to none", () =>
    Effect.gen(function* () {
      const { all, key, send } = yield* started
      const rows = ["1", "2", "3"].map((n) => ({ action: "add", row: { n, k: 1 } }))
      const added = yield* send("/batch", { operations: rows })
      const stored = bodyOf<{ results: ReadonlyArray<{ result: Stored }> }>(added).results.map(({ result }) => result)
      const time = stored[0]!.updated_at
      assert.strictEqual(new Set(stored.map(({ updated_at }) => updated_at)).size, 1)
      const update = { filter: { k: 1 }, patch: { m: 1 }, allowMultiple: true, ifUpdatedAt: time }
      yield* send("/update_row", { id: stored[1]!.id, patch: { m: 0 } })
      const before = yield* all
      for (const answer of [
        yield* send("/update_where", update),
        yield* send("", { filter: { k: 1 }, ifUpdatedAt: time })
      ]) {
        assert.strictEqual((conflictOf(answer) as Stored).id, stored[1]!.id)
        assert.include(answer.text, "1 of the 3 rows")
      }
      assert.strictEqual(yield* all, before)
      yield* request("DELETE", "/v1/t", { key, body: JSON.stringify({ filter: { m: 0 } }) })
      assert.include((yield* send("/update_where", update)).text, '"updated":2')
      const none = yield* send("", { filter: { k: 9 }, ifUpdatedAt: time })
      assert.strictEqual(none.text, '{"deleted":0}')
    })
  )

  it.effect("P40 lets exactly one of 20 writers through that read the same row", () =>
    Effect.gen(function* () {
      const { add, send } = yield* started
      const { id, updated_at: ifUpdatedAt } = yield* add("{}")
      const writes = Array.from({ length: 20 }, (_, n) => send("/update_row", { id, ifUpdatedAt, patch: { n } }))
      const answers = yield* Effect.all(writes, { concurrency: "unbounded" })
      const [won, ...more] = answers.filter(({ status }) => status === 200)
      assert.isDefined(won)
      assert.strictEqual(more.length, 0)
      const { row } = bodyOf<{ row: Stored }>(won)
      for (const answer of answers) if (answer !== won) assert.deepStrictEqual(conflictOf(answer), row)
    })
  )

  it.effect("does not refuse the repeat of a write that it let through", () =>
    Effect.gen(function* () {
      const { add, send } = yield* started
      const { id, updated_at: ifUpdatedAt } = yield* add("{}")
      const once = () => send("/update_row", { id, ifUpdatedAt, patch: { n: 1 } }, { "idempotency-key": "once" })
      const first = yield* once()
      const again = yield* once()
      assert.deepStrictEqual([again.status, again.text], [200, first.text])
      const other = yield* send("/update_row", { id, patch: { n: 1 } }, { "idempotency-key": "once" })
      assert.strictEqual(bodyOf<{ code: string }>(other).code, "idempotency_key_reused")
    })
  )
})
