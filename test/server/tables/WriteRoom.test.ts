import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { updateWhereOf } from "../../../src/domain/Write.ts"
import type { WriteRequest } from "../../../src/server/tables/EvaluateWrites.ts"
import type { RecordKey } from "../../../src/server/tables/GroupReads.ts"
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

const repoOf = (selected: number, answerBytes: Readonly<Record<string, number>> = {}) => ({
  bytes: () => Effect.succeed(selected * mebibyte),
  answerBytes: (_: string, wanted: ReadonlyArray<RecordKey>) =>
    Effect.succeed(wanted.map((one) => ({ ...one, bytes: (answerBytes[one.key] ?? 0) * mebibyte })))
})

const keyed = (key: string): WriteRequest => ({
  accountId: "",
  table: "t",
  operation: "update_where",
  writes: [],
  isBatch: false,
  isDryRun: false,
  changedBy: "{}",
  now: 0,
  idempotency: { key, requestHash: "" },
  bytes: 0
})

/** Room for requests with the keys `small` and `k1`, `k2` and `k3`, whose kept answers are large. */
const roomForRepeats = () => {
  const workspaces = makeRoom({ total: 128 * mebibyte, perAccount: 64 * mebibyte, patience: "15 seconds" })
  const admit = makeWriteRoom(repoOf(0, { k1: 25, k2: 5, k3: 25 }), workspaces, limits)
  const take = (keys: ReadonlyArray<string>, isPatient = true) => admit("one", keys.map(keyed), undefined, isPatient)
  return { take, workspaces }
}

const keysOf = (requests: ReadonlyArray<WriteRequest>) => requests.map(({ idempotency }) => idempotency?.key)

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
  const admit = makeWriteRoom(repoOf(selected), workspaces, limits)
  const take = (accountId: string) => admit(accountId, [request], undefined, true)
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
      const refused = yield* Fiber.join(late)
      assert.deepInclude(refused._tag === "LacksRoom" ? refused.problem : {}, { code: "unavailable", status: 503 })
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

describe("Repeated requests whose kept answers are large", () => {
  it.effect("come in groups that read a few MiB of them, or a single larger one", () =>
    Effect.gen(function* () {
      const { take } = roomForRepeats()
      assert.deepStrictEqual(keysOf(yield* Effect.scoped(take(["k1", "k2", "k3"]))), ["k1"])
      assert.deepStrictEqual(keysOf(yield* Effect.scoped(take(["small", "k2", "new", "k3"]))), ["small", "k2", "new"])
    })
  )

  it.effect("hold room for what is read, until they are answered", () =>
    Effect.gen(function* () {
      const { take, workspaces } = roomForRepeats()
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* take(["k1", "k2"])
          assert.isUndefined(workspaces.lacks("one", 39 * mebibyte))
          assert.isDefined(workspaces.lacks("one", 39 * mebibyte + 1))
        })
      )
      assert.isUndefined(workspaces.lacks("one", 64 * mebibyte))
    })
  )

  it.effect("are refused without a wait where they have waited in their group", () =>
    Effect.gen(function* () {
      const { take, workspaces } = roomForRepeats()
      yield* workspaces.count("one", 64 * mebibyte)
      const refused = yield* Effect.flip(take(["k1"], false))
      assert.strictEqual(refused._tag, "LacksRoom")
      assert.deepStrictEqual(keysOf(yield* take(["small"], false)), ["small"])
    })
  )
})
