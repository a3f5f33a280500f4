import { assert, type Vitest } from "@effect/vitest"
import { Array, Effect } from "effect"
import { rateLimitHeaders } from "../../../src/server/keys/Admission.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { newAccount } from "../../support/SignInServices.ts"
import { admit, admitTimes, count, keyOf, newKey, set, type Needs } from "./LimiterCases.ts"

/** Rates at which nothing is regained while a test runs: a key's write after 20 seconds, an account's after 12. */
export const slowRates = { LIMIT_WRITES_PER_MINUTE: "3", LIMIT_ACCOUNT_WRITES_PER_MINUTE: "5" }

/** What every limiter does with the bucket of an account, at {@link slowRates}. */
export const accountCases = (it: Vitest.MethodsNonLive<Needs>) => {
  it.effect("P44 lets all keys and connections of an account together send what the account may", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      const { spend } = yield* RateLimiter
      const accountId = yield* newAccount
      const keys = yield* Effect.all(Array.makeBy(4, () => keyOf(accountId)))
      const admissions = yield* Effect.all(
        keys.slice(1).map((key) => admitTimes(3, key)),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(count(admissions.flat(), "Admitted"), 5)
      const refused = yield* admit(keys[0]!)
      assert.deepInclude(refused, { _tag: "Limited", class: "write", bucket: "account", limit: 5 })
      assert.include(rateLimitHeaders(refused)["ratelimit-policy"], '"account-writes";q=5;w=60')
      assert.match(rateLimitHeaders(refused)["retry-after"] ?? "", /^(?:[1-9]|1[0-2])$/)
      assert.deepInclude(yield* spend({ accountId, id: "connection", class: "write" }), { bucket: "account" })
      assert.deepInclude(yield* admit(keys[0]!, "read"), { _tag: "Admitted", bucket: "own", remaining: 59 })
      assert.strictEqual((yield* admit(yield* newKey))._tag, "Admitted")
    })
  )

  it.effect(
    "P44 takes nothing from the account when the key refuses, and nothing from the key when the account does",
    () =>
      Effect.gen(function* () {
        yield* set("0 seconds")
        const { remaining } = yield* RateLimiter
        const busy = yield* newKey
        const [other, fresh] = [yield* keyOf(busy.accountId), yield* keyOf(busy.accountId)]
        assert.strictEqual(count(yield* admitTimes(20, busy), "Admitted"), 3)
        assert.strictEqual(count(yield* admitTimes(20, other), "Admitted"), 2)
        assert.strictEqual(count(yield* admitTimes(20, fresh), "Admitted"), 0)
        yield* set("60 seconds")
        assert.deepStrictEqual(yield* remaining(fresh), { writes: 3, reads: 60 })
        assert.strictEqual(count(yield* admitTimes(20, fresh), "Admitted"), 3)
        assert.strictEqual(count(yield* admitTimes(20, busy), "Admitted"), 2)
      })
  )

  it.effect("tells the smaller of what the key and the account have left", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      const { remaining } = yield* RateLimiter
      const key = yield* newKey
      yield* admitTimes(3, yield* keyOf(key.accountId))
      assert.deepStrictEqual(yield* remaining(key), { writes: 2, reads: 60 })
      assert.deepInclude(yield* admit(key), { bucket: "account", limit: 5, remaining: 1 })
      assert.deepStrictEqual(yield* remaining(key), { writes: 1, reads: 60 })
    })
  )

  it.effect("names the longer wait when both refuse", () =>
    Effect.gen(function* () {
      yield* set("0 seconds")
      const key = yield* newKey
      yield* admitTimes(3, key)
      yield* admitTimes(2, yield* keyOf(key.accountId))
      const refused = yield* admit(key)
      assert.deepInclude(refused, { _tag: "Limited", bucket: "own", limit: 3 })
      const { retryAfter } = refused as { readonly retryAfter: number }
      assert.isAbove(retryAfter, 12)
      yield* set(`${retryAfter} seconds`)
      assert.strictEqual((yield* admit(key))._tag, "Admitted")
    })
  )
}
