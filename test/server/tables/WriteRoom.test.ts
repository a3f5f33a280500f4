import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { limitsWith } from "../../../src/domain/Limits.ts"
import { AccountId } from "../../../src/domain/Account.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import type { WriteRequest } from "../../../src/server/tables/engine/Evaluation.ts"
import type { RecordKey } from "../../../src/server/tables/engine/Evaluation.ts"
import { makeRoom } from "../../../src/server/capacity/Room.ts"
import type { Selector } from "../../../src/server/tables/operations/OperationKind.ts"
import type { Write } from "../../../src/server/tables/operations/Operations.ts"
import type { AccountState } from "../../../src/server/tables/engine/Workspace.ts"
import { makeWriteRoom } from "../../../src/server/tables/engine/WriteRoom.ts"
import { batchOf, checked } from "../../support/Batches.ts"

const mebibyte = 1_048_576
const limits = limitsWith({})

const updateOf = (filter: string, patch = '{"b":1}') =>
  checked(
    { action: "update_where", filter: JsonText.trusted(filter), patch: JsonText.trusted(patch), allowMultiple: true },
    limits.rowBytes
  )

/** An account of 25 MiB, in which each filter finds so many MiB in so many rows. */
const repoOf = (
  found: (selector: Selector) => number,
  recordBytes: Readonly<Record<string, number>> = {},
  rows = 100
) => ({
  sizes: (_: string, selectors: ReadonlyArray<Selector>) =>
    Effect.succeed({
      storageBytes: limits.storageBytes,
      found: selectors.map((selector) => ({ rows, bytes: found(selector) * mebibyte }))
    }),
  undoableBytes: () => Effect.succeed(0),
  deletedBytes: () => Effect.succeed(0),
  recordBytes: (_: string, wanted: ReadonlyArray<RecordKey>) =>
    Effect.succeed(wanted.map((one) => ({ ...one, bytes: (recordBytes[one.key] ?? 0) * mebibyte })))
})

const unbounded = () =>
  makeRoom({ total: Number.POSITIVE_INFINITY, perAccount: Number.POSITIVE_INFINITY, patience: "15 seconds" })

const keyed = (key: string): WriteRequest => ({
  accountId: AccountId.make(""),
  table: "t",
  operation: "update_where",
  writes: [],
  isBatch: false,
  isDryRun: false,
  changedBy: "{}",
  now: 0,
  incarnation: 0,
  idempotency: { key, requestHash: "" },
  bytes: 0
})

/** Room for requests with the keys `small` and `k1`, `k2` and `k3`, whose kept answers are large. */
const roomForRepeats = () => {
  const workspaces = makeRoom({ total: 128 * mebibyte, perAccount: 64 * mebibyte, patience: "15 seconds" })
  const admit = makeWriteRoom(
    repoOf(() => 0, { k1: 25, k2: 5, k3: 25 }),
    { workspaces, answers: unbounded() },
    limits
  )
  const take = (keys: ReadonlyArray<string>, isPatient = true) =>
    admit(AccountId.make("one"), keys.map(keyed), undefined, isPatient)
  return { take, workspaces }
}

const keysOf = (requests: ReadonlyArray<WriteRequest>) => requests.map(({ idempotency }) => idempotency?.key)

/** Room for batches of two updates, both of which select the same MiB; and how to take it for an account. */
const roomFor = (selected: number) => {
  const { take } = roomForUpdates(() => selected)
  const update = updateOf('{"a":1}')
  return { take: (accountId: string) => take([[update, update]], accountId) }
}

/** Room for batches of such writes, and how to tell whether an account could have so many MiB more. */
const roomForUpdates = (found: (selector: Selector) => number, rows?: number, answers = unbounded()) => {
  const workspaces = makeRoom({ total: 128 * mebibyte, perAccount: 64 * mebibyte, patience: "15 seconds" })
  const admit = makeWriteRoom(repoOf(found, {}, rows), { workspaces, answers }, limits)
  const take = (batches: ReadonlyArray<ReadonlyArray<Write>>, accountId = "one", known?: AccountState) =>
    admit(AccountId.make(accountId), batches.map(batchOf), known && { state: known, cached: undefined }, true)
  const leaves = (more: number) => workspaces.lacks("one", more * mebibyte) === undefined
  return { take, leaves }
}

describe("Writes that select much", () => {
  it.effect("wait for each other, and are refused with 503 once they have waited for long", () =>
    Effect.gen(function* () {
      const { take } = roomFor(25)
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

  it.effect("are refused at once where there is no room for their answers", () =>
    Effect.gen(function* () {
      const answers = makeRoom({ total: 128 * mebibyte, perAccount: 64 * mebibyte, patience: "15 seconds" })
      const { leaves, take } = roomForUpdates(() => 25, undefined, answers)
      yield* answers.count("one", 40 * mebibyte)
      const refused = yield* Effect.flip(take([[updateOf('{"a":1}')]]))
      assert.include(refused._tag === "LacksRoom" ? refused.problem.detail : "", "too many large responses")
      assert.isTrue(leaves(64))
      yield* take([[updateOf('{"a":1}')]], "another account")
    })
  )

  it.effect("leave room for others where they select little", () =>
    Effect.gen(function* () {
      const { take } = roomFor(10)
      yield* take("one")
      yield* take("two")
      yield* take("three")
    })
  )

  it.effect("count what each update of a batch makes anew of what they select", () =>
    Effect.gen(function* () {
      const { take } = roomFor(15)
      yield* take("one")
      const second = yield* Effect.forkChild(Effect.scoped(take("two")), { startImmediately: true })
      assert.isUndefined(second.pollUnsafe())
      yield* Fiber.interrupt(second)
    })
  )
})

describe("The room of updates", () => {
  const filters = Array.from({ length: 50 }, (_, n) => `{"n":${n}}`)
  const single = filters.map((filter) => [updateOf(filter)])
  const together = [filters.map((filter) => updateOf(filter))]

  for (const [what, batches] of Object.entries({ "one by one": single, "in one batch": together })) {
    it.effect(`is for what each selects, and as much again, where many come ${what}`, () =>
      Effect.gen(function* () {
        const { leaves, take } = roomForUpdates(() => 0.1)
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* take(batches)
            assert.deepStrictEqual([leaves(53), leaves(55)], [true, false])
          })
        )
      })
    )
  }

  it.effect("is for all that there is where one may give rows what the next asks for", () =>
    Effect.gen(function* () {
      const { leaves, take } = roomForUpdates(({ fields }) => (fields.short.includes('"a"') ? 10 : 0))
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* take([[updateOf('{"a":1}', '{"b":1}'), updateOf('{"c":1}')]])
          assert.deepStrictEqual([leaves(43), leaves(45)], [true, false])
        })
      )
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* take([[updateOf('{"a":1}', '{"b":1}')], [updateOf('{"b":1}')]])
          assert.deepStrictEqual([leaves(33), leaves(35)], [true, false])
        })
      )
    })
  )

  it.effect("is for what a long patch makes of many small rows, also where little is known to be there", () =>
    Effect.gen(function* () {
      const { leaves, take } = roomForUpdates(() => 0.1, 1000)
      const write = updateOf('{"a":1}', JSON.stringify({ text: "x".repeat(20 * 1024) }))
      const known = {
        revision: 1,
        incarnation: 1,
        nextSeq: 1,
        nextChange: 1,
        storageBytes: 200_000,
        rowsByTable: new Map([["t", 1000]])
      }
      for (const state of [undefined, known]) {
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* take([[write]], "one", state)
            assert.deepStrictEqual([leaves(43), leaves(45)], [true, false])
          })
        )
      }
    })
  )

  it.effect("is asked for by nobody where all that there is would be little", () =>
    Effect.gen(function* () {
      const { take } = roomForUpdates(() => assert.fail("what is found was asked for"))
      const known = {
        revision: 1,
        incarnation: 1,
        nextSeq: 1,
        nextChange: 1,
        storageBytes: 200_000,
        rowsByTable: new Map([["t", 1000]])
      }
      yield* take([[updateOf('{"a":1}')]], "one", known)
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
