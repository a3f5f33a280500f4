import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { updateWhereOf } from "../../../src/domain/Write.ts"
import { selectorOf } from "../../../src/server/tables/ApplyWrite.ts"
import type { WriteRequest } from "../../../src/server/tables/EvaluateWrites.ts"
import { makeRoom } from "../../../src/server/capacity/Room.ts"
import { makeWriteRoom } from "../../../src/server/tables/WriteRoom.ts"

const mebibyte = 1_048_576
const limits = {
  tables: 20,
  rowsPerTable: 1000,
  storageBytes: 25 * mebibyte,
  rowBytes: 65_536,
  batchOperations: 100,
  versionsPerRow: 10,
  versionDays: 30,
  versionStorageBytes: 250 * mebibyte,
  idempotencyHours: 24,
  idempotencyStorageBytes: 250 * mebibyte
}

const size = { limit: limits.rowBytes, longest: limits.rowBytes }
const update = Effect.fromResult(
  updateWhereOf(JsonText.trusted('{"a":1}'), JsonText.trusted('{"b":1}'), true, size, "")
).pipe(Effect.orDie)

/** Room for batches of two updates, each of which select so many MiB; and how to take it for an account. */
const roomFor = Effect.fnUntraced(function* (selected: number) {
  const write = yield* update
  const request: WriteRequest = {
    accountId: "",
    table: "t",
    operation: "batch",
    writes: [write, write],
    isBatch: true,
    isDryRun: false,
    changedBy: "{}",
    now: 0,
    idempotency: undefined,
    bytes: 0
  }
  const workspaces = makeRoom({ total: 128 * mebibyte, perAccount: 64 * mebibyte, patience: "15 seconds" })
  const admit = makeWriteRoom({ bytes: () => Effect.succeed(selected * mebibyte) }, workspaces, limits)
  const take = (accountId: string) => admit(accountId, [request], [selectorOf(write, "t")!], undefined)
  return { take }
})

describe("Writes that select much", () => {
  it.effect("wait for each other, and are refused with 503 once they have waited for long", () =>
    Effect.gen(function* () {
      const { take } = yield* roomFor(25)
      const first = yield* Scope.make()
      yield* Scope.provide(take("one"), first)
      const late = yield* Effect.forkChild(Effect.flip(Effect.scoped(take("two"))), { startImmediately: true })
      yield* TestClock.adjust("16 seconds")
      assert.deepInclude(yield* Fiber.join(late), { code: "unavailable", status: 503 })
      const patient = yield* Effect.forkChild(Effect.scoped(take("two")), { startImmediately: true })
      yield* TestClock.adjust("10 seconds")
      assert.isUndefined(patient.pollUnsafe())
      yield* Scope.close(first, Exit.void)
      yield* Fiber.join(patient)
    })
  )

  it.effect("leave room for others where they select little", () =>
    Effect.gen(function* () {
      const { take } = yield* roomFor(10)
      yield* take("one")
      yield* take("two")
      yield* take("three")
    })
  )

  it.effect("count what each update of a batch makes anew of what they select", () =>
    Effect.gen(function* () {
      const { take } = yield* roomFor(15)
      yield* take("one")
      const second = yield* Effect.forkChild(Effect.scoped(take("two")), { startImmediately: true })
      assert.isUndefined(second.pollUnsafe())
      yield* Fiber.interrupt(second)
    })
  )
})
