import { NodeCrypto } from "@effect/platform-node"
import { assert, type Vitest } from "@effect/vitest"
import { Array, Context, Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../src/domain/Account.ts"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { LastUses } from "../../../src/server/keys/LastUses.ts"
import { type Admission, rateLimitHeaders } from "../../../src/server/keys/Admission.ts"
import { bucketsInProcess, makeOver, RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { RateLimiterRepo } from "../../../src/server/keys/RateLimiterRepo.ts"
import { Settings } from "../../../src/server/config/Settings.ts"
import { DatabaseLayer, setClock } from "../../support/Database.ts"
import { newAccount, settingsLayer } from "../../support/SignInServices.ts"

/** What a limiter is built on, with settings of its own. */
export const infrastructureLayer = (variables: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(DatabaseLayer, NodeCrypto.layer, settingsLayer(variables))

export const InfrastructureLayer = infrastructureLayer()

/** A limiter with its buckets in this process, as it counts reads while the database's disk is full. */
export const limiterInMemory = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const repo = yield* RateLimiterRepo
    const { limits } = yield* Settings
    return RateLimiter.of(yield* makeOver(repo, limits, bucketsInProcess(repo)))
  })
).pipe(Layer.provide(RateLimiterRepo.layer))

/** Moves the limiter's clock: it stands `interval` (PostgreSQL's, such as `31 days`) after real time. */
export class LimiterClock extends Context.Service<
  LimiterClock,
  { readonly set: (interval: string) => Effect.Effect<void> }
>()("agent-memory/test/server/keys/LimiterCases/LimiterClock") {
  /** The clock of limiters that take the database's. */
  static readonly layerDatabase = Layer.effect(
    LimiterClock,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      set: (interval) => Effect.orDie(Effect.provideService(setClock(interval), SqlClient.SqlClient, sql))
    }))
  )
}

/** Moves the clock of the limiter that is tested. */
export const set = (interval: string) => Effect.flatMap(LimiterClock, (clock) => clock.set(interval))

/** Another key of an account. */
export const keyOf = Effect.fnUntraced(function* (accountId: AccountId) {
  const keys = yield* Keys
  const digest = yield* Digest.Digest
  const { id, api_key } = yield* keys.issue(accountId, "tests")
  const hash = yield* digest.digest(Digest.sha256, new TextEncoder().encode(api_key))
  return { accountId, id, hash }
})

/** The key of a new account. */
export const newKey = Effect.flatMap(newAccount, keyOf)

export type ShownKey = Effect.Success<typeof newKey>

export const admit = Effect.fnUntraced(function* ({ accountId, hash }: ShownKey, wanted: "read" | "write" = "write") {
  return yield* (yield* RateLimiter).admit({ accountId, hash, class: wanted })
})

export const admitTimes = (times: number, key: ShownKey) =>
  Effect.all(
    Array.makeBy(times, () => admit(key)),
    { concurrency: "unbounded" }
  )

export const count = (admissions: ReadonlyArray<Admission>, tag: Admission["_tag"]) =>
  admissions.filter(({ _tag }) => _tag === tag).length

export type Needs =
  | RateLimiter
  | LastUses
  | LimiterClock
  | Keys
  | Digest.Digest
  | Layer.Success<typeof InfrastructureLayer>

/** What every limiter does, wherever it keeps its buckets. */
export const limiterCases = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("admits a burst of 30 writes, then one every 2 seconds, and counts reads apart", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      const key = yield* newKey
      const first = yield* admit(key)
      assert.deepInclude(first, { _tag: "Admitted", limit: 30, remaining: 29, reset: 2 })
      assert.deepStrictEqual(rateLimitHeaders(first), {
        "ratelimit-policy": '"writes";q=30;w=60',
        ratelimit: '"writes";r=29;t=2'
      })
      yield* admitTimes(29, key)
      const refused = yield* admit(key)
      assert.deepStrictEqual(refused, {
        _tag: "Limited",
        class: "write",
        bucket: "own",
        limit: 30,
        retryAfter: 2
      })
      assert.deepStrictEqual(rateLimitHeaders(refused), {
        "ratelimit-policy": '"writes";q=30;w=60',
        ratelimit: '"writes";r=0;t=2',
        "retry-after": "2"
      })
      assert.deepInclude(yield* admit(key, "read"), { _tag: "Admitted", limit: 60, remaining: 59 })
      assert.deepStrictEqual(yield* (yield* RateLimiter).remaining(key), { writes: 0, reads: 59 })

      yield* set("2 seconds")
      assert.deepInclude(yield* admit(key), { _tag: "Admitted", remaining: 0 })
      assert.strictEqual((yield* admit(key))._tag, "Limited")
      yield* set("1 hour")
      assert.strictEqual(count(yield* admitTimes(31, key), "Admitted"), 30)
    })
  )

  it.effect("spends nothing on a refusal", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      const key = yield* newKey
      yield* admitTimes(60, key)
      yield* set("10 seconds")
      assert.strictEqual(count(yield* admitTimes(10, key), "Admitted"), 5)
    })
  )

  it.effect("refuses nobody for longer than a bucket takes to fill, however far the clock is set back", () =>
    Effect.gen(function* () {
      // One request takes a statement of its own, many are admitted together.
      for (const times of [1, 10]) {
        yield* set("3 hours")
        const key = yield* newKey
        yield* admitTimes(31, key)
        yield* set("0 seconds")
        for (const admission of yield* admitTimes(times, key)) {
          if (admission._tag === "Limited") assert.isAtMost(admission.retryAfter, 2)
        }
        yield* set("2 seconds")
        assert.strictEqual((yield* admit(key))._tag, "Admitted")
        yield* set("62 seconds")
        assert.strictEqual(count(yield* admitTimes(31, key), "Admitted"), 30)
      }
      yield* set("0 seconds")
    })
  )

  it.effect("lets exactly the burst through of 100 at once", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      for (let round = 0; round < 5; round++) {
        assert.strictEqual(count(yield* admitTimes(100, yield* newKey), "Admitted"), 30)
      }
    })
  )

  it.effect("gives the key with the database's time", () =>
    Effect.gen(function* () {
      yield* set("100 days")
      const sql = yield* SqlClient.SqlClient
      const key = yield* newKey
      const admission = yield* admit(key)
      assert.deepInclude(admission, { key: { accountId: key.accountId, id: key.id, name: "tests" } })
      const [row] = yield* sql<{ readonly close: boolean }>`
        SELECT abs(extract(epoch FROM memory_now() - ${(admission as { readonly now: Date }).now})) < 5 AS close
      `
      assert.isTrue(row?.close)
    })
  )

  it.effect("does not know a revoked key, a random one, or a key under another account", () =>
    Effect.gen(function* () {
      const key = yield* newKey
      const other = yield* newKey
      assert.strictEqual((yield* admit(key))._tag, "Admitted")
      assert.strictEqual((yield* admit({ ...key, hash: new Uint8Array(32) }))._tag, "Unknown")
      assert.strictEqual((yield* admit({ ...key, accountId: other.accountId }))._tag, "Unknown")
      assert.strictEqual(yield* (yield* Keys).revoke(wholeAccount(key.accountId), key.id), 1)
      assert.deepStrictEqual(yield* admit(key), { _tag: "Unknown" })
      assert.deepStrictEqual(rateLimitHeaders({ _tag: "Unknown" }), {})
    })
  )

  it.effect("keeps last_used_at to the minute without writing more often", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      yield* set("0 seconds")
      const key = yield* newKey
      const usedAt = (accountId: AccountId) =>
        Effect.map(keys.list(wholeAccount(accountId)), ([record]) => record?.last_used_at)
      assert.isNull(yield* usedAt(key.accountId))
      const { write } = yield* LastUses
      yield* admit(key)
      yield* write
      const first = yield* usedAt(key.accountId)
      assert.isString(first)
      yield* set("30 seconds")
      yield* admit(key, "read")
      yield* write
      assert.strictEqual(yield* usedAt(key.accountId), first)
      yield* set("61 seconds")
      yield* admitTimes(20, key)
      yield* write
      assert.notStrictEqual(yield* usedAt(key.accountId), first)
      yield* set("0 seconds")
    })
  )

  it.effect("spends for connections as for keys", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      const { spend } = yield* RateLimiter
      const accountId = yield* newAccount
      const verdicts = yield* Effect.all(
        Array.makeBy(70, () => spend({ accountId, id: "connection", class: "read" })),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(verdicts.filter(({ _tag }) => _tag === "Passed").length, 60)
      assert.deepStrictEqual(yield* spend({ accountId, id: "connection", class: "read" }), {
        _tag: "Limited",
        class: "read",
        bucket: "own",
        limit: 60,
        retryAfter: 1
      })
    })
  )
}
