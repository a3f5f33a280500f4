import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { rowKeys } from "../../../src/domain/keys/SortKey.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { SnapshotRepo } from "../../../src/server/tables/engine/SnapshotRepo.ts"
import { actorNow, callerNow } from "../../support/Instances.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"
import { asked } from "../../support/Asked.ts"

const json = JsonText.trusted

/** Ten rows of 9 KB in an account that may hold 100 KB, so that a batch may answer 200 KB and a mebibyte. */
const filled = Effect.gen(function* () {
  const { accountId } = yield* newAccount
  const rowWrites = yield* Writes
  const caller = yield* callerNow(accountId, "big")
  const row = json(JSON.stringify({ a: 1, b: 2, text: "x".repeat(9000) }))
  yield* rowWrites.batch(
    ...caller,
    Array.from({ length: 10 }, () => ({ action: "add", row }) as const)
  )
  return { accountId, caller, rowWrites }
})

const updateAll = (patch: string, filter = '{"a":1}') =>
  ({ action: "update_where", filter: json(filter), patch: json(patch), allowMultiple: true }) as const

const selectorOf = (filter: string) => ({
  table: "big",
  id: undefined,
  createdAt: undefined,
  updatedAt: undefined,
  fields: rowKeys(json(filter)),
  text: "",
  words: []
})

const textOf = Effect.fnUntraced(function* (accountId: string) {
  const rows = yield* Rows
  return (yield* rows.query(
    yield* actorNow(accountId),
    asked("big", { filter: undefined, sort: undefined, limit: 100 })
  )).text
})

const services = Layer.provideMerge(SnapshotRepo.layer, servicesLayer({ LIMIT_STORAGE_BYTES: "100000" }))

layer(services, { excludeTestServices: true })("Small requests that touch much", (it) => {
  it.effect("are refused as a batch whose answer would outgrow the account, and change nothing", () =>
    Effect.gen(function* () {
      const { accountId, caller, rowWrites } = yield* filled
      const before = yield* textOf(accountId)
      const operations = Array.from({ length: 20 }, (_, n) => updateAll(`{"n":${n}}`))
      const refused = yield* Effect.result(rowWrites.batch(...caller, operations))
      assert.isTrue(Result.isFailure(refused))
      assert.deepInclude(Result.isFailure(refused) ? refused.failure : {}, {
        status: 413,
        code: "request_too_large",
        operation: 13
      })
      assert.strictEqual(yield* textOf(accountId), before)
      const answer = yield* rowWrites.batch(...caller, operations.slice(0, 13))
      assert.isAbove(answer.body.bytes, 1_100_000)
    })
  )

  it.effect("are each answered when many of them come at once", () =>
    Effect.gen(function* () {
      const { accountId, caller, rowWrites } = yield* filled
      const answers = yield* Effect.forEach(
        Array.from({ length: 40 }, (_, n) => n),
        (n) => rowWrites.write(...caller, updateAll(`{"n${n}":${n}}`)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(answers.length, 40)
      const { rows } = JSON.parse(yield* textOf(accountId)) as { rows: ReadonlyArray<Record<string, unknown>> }
      for (const row of rows) {
        for (let n = 0; n < 40; n++) assert.strictEqual(row[`n${n}`], n)
      }
    })
  )

  it.effect("read a row once, in however many ways they name it", () =>
    Effect.gen(function* () {
      const { accountId } = yield* filled
      const repo = yield* SnapshotRepo
      const { found: rows } = yield* repo.rows(accountId, ['{"a":1}', '{"b":2}', '{"a":1,"b":2}'].map(selectorOf))
      assert.strictEqual(rows.length, 10)
    })
  )

  it.effect("are told how much each of their filters finds, and how much there is in all", () =>
    Effect.gen(function* () {
      const { accountId, caller, rowWrites } = yield* filled
      yield* rowWrites.write(...caller, { action: "add", row: json('{"a":2}') })
      const repo = yield* SnapshotRepo
      const { found, storageBytes } = yield* repo.sizes(accountId, ['{"a":1}', '{"a":2}', '{"a":3}'].map(selectorOf))
      assert.deepStrictEqual(found.slice(1), [
        { rows: 1, bytes: 7 },
        { rows: 0, bytes: 0 }
      ])
      assert.deepStrictEqual(found[0], { rows: 10, bytes: storageBytes - 7 })
    })
  )

  it.effect("read the content of the versions that are to be restored, and of no other", () =>
    Effect.gen(function* () {
      const { accountId } = yield* newAccount
      const rowWrites = yield* Writes
      const caller = yield* callerNow(accountId, "big")
      const { body } = yield* rowWrites.write(...caller, { action: "add", row: json('{"n":0}') })
      const { id } = JSON.parse(body.text) as { id: string }
      for (let n = 1; n <= 4; n++) {
        yield* rowWrites.write(...caller, { action: "update_row", id, patch: json(`{"n":${n}}`) })
      }
      const repo = yield* SnapshotRepo
      const wanted = [2, 4, 2, 1e300].map((version) => ({ table: "big", id, version }))
      const { found: versions } = yield* repo.versions(accountId, wanted, 30)
      assert.sameDeepMembers(
        versions.map(({ data, row, version }) => [version, data?.text, row.lastVersion]),
        [
          [1, undefined, 4],
          [2, '{"n":1}', 4],
          [3, undefined, 4],
          [4, '{"n":3}', 4]
        ]
      )
    })
  )

  it.effect("are given their kept answers, though many large ones are asked for at once", () =>
    Effect.gen(function* () {
      const { caller, rowWrites } = yield* filled
      const repeats = Array.from({ length: 12 }, (_, n) => n)
      const send = (n: number) =>
        rowWrites.batch(
          caller[0],
          { table: "big", idempotencyKey: `k${n}` },
          Array.from({ length: 10 }, () => updateAll(`{"n":${n}}`))
        )
      const first = yield* Effect.forEach(repeats, send)
      assert.isAbove(
        first.reduce((sum, { body }) => sum + body.bytes, 0),
        10 * 1_048_576
      )
      const again = yield* Effect.forEach(repeats, send, { concurrency: "unbounded" })
      assert.deepStrictEqual(
        again.map(({ body, replayed }) => [body.text, replayed]),
        first.map(({ body }) => [body.text, true])
      )
    })
  )
})
