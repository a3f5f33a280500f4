import { assert, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AccountId } from "../../../src/domain/Account.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { RetentionRepo } from "../../../src/server/retention/RetentionRepo.ts"
import { OnSwept, Sweeper } from "../../../src/server/retention/Sweeper.ts"
import { setClock } from "../../support/Database.ts"
import { secondPool } from "../../support/SignInServices.ts"
import { assertExact, countOf, newWriter, paced, retentionLayer, sweep, versionsOf } from "./Sweeping.ts"
import { within } from "../../support/OwnTime.ts"

layer(retentionLayer(), { excludeTestServices: true })("Sweeper", (it) => {
  it.effect("keeps an idle bucket that a transaction is spending of, without waiting for it", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId } = yield* newWriter
      const { spend } = yield* RateLimiter
      const [spent, swept] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      const request = { accountId: AccountId.make(accountId), id: "connection", class: "read" } as const
      yield* spend(request)
      yield* setClock("2 hours")
      const spending = Effect.gen(function* () {
        const other = yield* SqlClient.SqlClient
        yield* other`
          UPDATE key_buckets SET tat = memory_now() + interval '30 seconds' WHERE account_id = ${accountId}
        `.pipe(
          Effect.andThen(Deferred.succeed(spent, undefined)),
          Effect.andThen(Deferred.await(swept)),
          other.withTransaction
        )
      }).pipe(Effect.provide(yield* secondPool))
      const fiber = yield* Effect.forkChild(spending)
      yield* Deferred.await(spent)
      assert.strictEqual((yield* sweep).removed.key_buckets, 0)
      yield* Deferred.succeed(swept, undefined)
      yield* Fiber.join(fiber)
      assert.strictEqual((yield* sweep).removed.key_buckets, 0)
      assert.strictEqual(yield* countOf("key_buckets", accountId), 2)
    })
  )

  it.effect("loses and fails no write that goes on in the same account", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      const other = yield* add({ n: 0 }, "first")
      for (let n = 0; n < 10; n++) yield* Effect.all([patch(id, { n }), add({ n }, `key ${n}`)])
      yield* setClock("31 days")
      const writes = Effect.forEach(
        Array.from({ length: 150 }, (_, n) => n),
        (n) => Effect.all([patch(other.id, { n }), add({ n }, `late ${n}`)], { concurrency: 2 }),
        { concurrency: 3 }
      )
      const [written, swept] = yield* Effect.all([writes, paced(1)(sweep)], { concurrency: 2 })
      assert.strictEqual(new Set(written.map(([, row]) => row.id)).size, 150)
      assert.deepInclude(swept.removed, { versions: 10, idempotency_records: 11 })
      assert.strictEqual(yield* countOf("rows", accountId), 162)
      yield* assertExact
    })
  )

  it.effect("stops at once while another instance sweeps", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { add, patch } = yield* newWriter
      const { id } = yield* add({ n: 0 })
      yield* patch(id, { n: 1 })
      yield* setClock("31 days")
      const busy = yield* Effect.gen(function* () {
        const other = yield* SqlClient.SqlClient
        const granted = yield* RetentionRepo
        return yield* other.withTransaction(Effect.andThen(granted.tryLock, sweep))
      }).pipe(Effect.provide(Layer.fresh(RetentionRepo.layer).pipe(Layer.provideMerge(yield* secondPool))))
      assert.strictEqual(busy.ended, "busy")
      assert.strictEqual(busy.removed.versions, 0)
      assert.strictEqual((yield* sweep).removed.versions, 1)
    })
  )

  it.effect("removes each thing once when two instances begin together", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const writers = yield* Effect.all([newWriter, newWriter, newWriter])
      for (const { add, patch } of writers) {
        const { id } = yield* add({ n: 0 }, "key")
        for (let n = 1; n < 8; n++) yield* patch(id, { n })
      }
      yield* setClock("31 days")
      const second = Layer.fresh(Layer.provide(Sweeper.layer, Layer.fresh(RetentionRepo.layer))).pipe(
        Layer.provide(yield* secondPool)
      )
      const sweeps = yield* Effect.all([paced(2)(sweep), paced(2)(sweep.pipe(Effect.provide(second)))], {
        concurrency: 2
      })
      const last = yield* sweep
      const removed = [...sweeps, last].reduce((sum, one) => sum + one.removed.versions, 0)
      assert.strictEqual(removed, 21)
      yield* assertExact
    })
  )

  it.effect("sweeps the other accounts although one can't be swept, and that one once it can", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const sql = yield* SqlClient.SqlClient
      const [broken, other] = [yield* newWriter, yield* newWriter]
      for (const { add, patch } of [broken, other]) {
        const { id } = yield* add({ n: 0 })
        yield* patch(id, { n: 1 })
        // The one that can't be swept has the oldest versions.
        yield* setClock("1 hour")
      }
      yield* setClock("31 days")
      const account = sql.literal(`'${broken.accountId}'`)
      yield* sql`ALTER TABLE accounts ADD CONSTRAINT no_sweep CHECK (account_id <> ${account} OR version_bytes > 0)`
      assert.strictEqual((yield* sweep).removed.versions, 1)
      assert.deepStrictEqual(yield* versionsOf(other.accountId), [])
      assert.deepStrictEqual(yield* versionsOf(broken.accountId), [1])
      yield* sql`ALTER TABLE accounts DROP CONSTRAINT no_sweep`
      assert.strictEqual((yield* sweep).removed.versions, 1)
      yield* assertExact
    })
  )

  it.effect("leaves exact counters, and soon, when it is interrupted", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { accountId, add, patch } = yield* newWriter
      for (let row = 0; row < 5; row++) {
        const { id } = yield* add({ n: 0 }, `key ${row}`)
        for (let n = 1; n < 8; n++) yield* patch(id, { n })
      }
      yield* setClock("31 days")
      const turn = Effect.callback<void>((resume) => void setImmediate(() => resume(Effect.void)))
      for (let round = 0; round < 12; round++) {
        const begun = yield* Deferred.make<void>()
        const told = Effect.provideService(OnSwept, () => Effect.asVoid(Deferred.succeed(begun, undefined)))
        const fiber = yield* Effect.forkChild(told(paced(1)(sweep)))
        yield* Deferred.await(begun)
        yield* Effect.replicateEffect(turn, round)
        yield* Fiber.interrupt(fiber).pipe(within(1000))
        yield* assertExact
      }
      assert.isAbove(yield* countOf("versions", accountId), 0)
      yield* sweep
      assert.deepStrictEqual(yield* versionsOf(accountId), [])
      yield* assertExact
    })
  )
})
