import { assert, describe, it, layer } from "@effect/vitest"
import { Array, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { LastUses } from "../../../src/server/keys/LastUses.ts"
import { RateLimiter } from "../../../src/server/keys/RateLimiter.ts"
import { command, noRedis, RedisServer } from "../../support/RedisServer.ts"
import { secondPool, settingsLayer } from "../../support/SignInServices.ts"
import { accountCases, slowRates } from "./AccountCases.ts"
import {
  admit,
  admitTimes,
  count,
  infrastructureLayer,
  keyOf,
  limiterCases,
  limiterInMemory,
  LimiterClock,
  newKey
} from "./LimiterCases.ts"
import { anotherLimiter, limiterInRedis, RedisClockLayer } from "./RedisSuite.ts"
import { mostWhileAway, timed } from "../../support/OwnTime.ts"

const options = { excludeTestServices: true, timeout: "30 seconds" } as const

const suite = (limiter: typeof RateLimiter.layerPostgres, variables: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(limiter, LastUses.layer, Keys.layer, LimiterClock.layerDatabase).pipe(
    Layer.provideMerge(infrastructureLayer(variables))
  )

layer(suite(RateLimiter.layerPostgres), options)("RateLimiter in PostgreSQL", limiterCases)
layer(suite(RateLimiter.layerPostgres, slowRates), options)("RateLimiter in PostgreSQL", accountCases)

layer(suite(limiterInMemory), options)("RateLimiter in memory", limiterCases)
layer(suite(limiterInMemory, slowRates), options)("RateLimiter in memory", accountCases)

const redisSuite = (variables: Readonly<Record<string, string>> = {}) =>
  Layer.mergeAll(limiterInRedis, LastUses.layer, Keys.layer, RedisClockLayer).pipe(
    Layer.provideMerge(Layer.merge(infrastructureLayer(variables), RedisServer.layer))
  )

describe.runIf(noRedis === undefined)("Redis", () => {
  layer(redisSuite(), options)("RateLimiter in Redis", limiterCases)
  layer(redisSuite(slowRates), options)("RateLimiter in Redis", accountCases)

  layer(redisSuite(), options)("RateLimiter in Redis, over instances", (it) => {
    it.effect("counts two instances as one", () =>
      Effect.gen(function* () {
        const second = Context.get(yield* Layer.build(yield* anotherLimiter), RateLimiter)
        const key = yield* newKey
        const other = Array.makeBy(50, () => second.admit({ ...key, class: "write" }))
        const [here, there] = yield* Effect.all(
          [admitTimes(50, key), Effect.all(other, { concurrency: "unbounded" })],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(count([...here, ...there], "Admitted"), 30)
        assert.deepStrictEqual(yield* second.remaining(key), { writes: 0, reads: 60 })
      })
    )

    it.effect("keeps a bucket no longer than it takes to be full again", () =>
      Effect.gen(function* () {
        const { url } = yield* RedisServer
        const key = yield* newKey
        const bucket = `agent-memory:{${key.accountId}}:${key.id}:write`
        const left = Effect.map(command(url, "PTTL", bucket), Number)
        yield* admit(key)
        assert.isAtMost(yield* left, 2000)
        yield* admitTimes(60, key)
        assert.isAtMost(yield* left, 60_000)
        assert.isAbove(yield* left, 50_000)
      })
    )

    it.effect("goes on when Redis forgets its scripts", () =>
      Effect.gen(function* () {
        const { url } = yield* RedisServer
        const key = yield* newKey
        yield* admit(key)
        yield* command(url, "SCRIPT", "FLUSH")
        assert.deepInclude(yield* admit(key), { _tag: "Admitted", remaining: 28 })
      })
    )

    it.effect("lets a whole burst through whatever the limit is", () =>
      Effect.gen(function* () {
        for (const limit of [1, 7, 13, 59, 601]) {
          const limiter = yield* Layer.build(
            Layer.fresh(limiterInRedis).pipe(Layer.provide(settingsLayer({ LIMIT_WRITES_PER_MINUTE: String(limit) })))
          ).pipe(Effect.map(Context.get(RateLimiter)))
          const key = yield* newKey
          const admissions = yield* Effect.all(
            Array.makeBy(limit, () => limiter.admit({ ...key, class: "write" })),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(count(admissions, "Admitted"), limit)
        }
      })
    )
  })
})

if (noRedis !== undefined) it.skip(`RateLimiter in Redis: ${noRedis}`, () => undefined)

layer(suite(RateLimiter.layerPostgres), { excludeTestServices: true, timeout: "30 seconds" })(
  "RateLimiter over instances",
  (it) => {
    it.effect("counts two instances as one", () =>
      Effect.gen(function* () {
        const second = yield* Layer.build(
          Layer.fresh(RateLimiter.layerPostgres).pipe(Layer.provide([yield* secondPool, settingsLayer()]))
        ).pipe(Effect.map(Context.get(RateLimiter)))
        const key = yield* newKey
        const [here, there] = yield* Effect.all(
          [
            admitTimes(50, key),
            Effect.all(
              Array.makeBy(50, () => second.admit({ ...key, class: "write" })),
              { concurrency: "unbounded" }
            )
          ],
          { concurrency: "unbounded" }
        )
        assert.strictEqual(count([...here, ...there], "Admitted"), 30)
      })
    )

    it.effect("P44 counts the keys of an account as one over two instances, whatever they ask for at once", () =>
      Effect.gen(function* () {
        const rates = settingsLayer({ LIMIT_WRITES_PER_MINUTE: "9", LIMIT_ACCOUNT_WRITES_PER_MINUTE: "11" })
        const limiterOn = Effect.gen(function* () {
          const limiter = Layer.fresh(RateLimiter.layerPostgres).pipe(Layer.provide([yield* secondPool, rates]))
          return Context.get(yield* Layer.build(limiter), RateLimiter)
        })
        const [here, there] = [yield* limiterOn, yield* limiterOn]
        for (let round = 0; round < 5; round++) {
          const first = yield* newKey
          const keys = [first, yield* keyOf(first.accountId), yield* keyOf(first.accountId)]
          const requests = keys.flatMap((key) =>
            Array.makeBy(20, (index) => (index % 2 === 0 ? here : there).admit({ ...key, class: "write" }))
          )
          const admissions = yield* Effect.all(requests, { concurrency: "unbounded" })
          assert.strictEqual(count(admissions, "Admitted"), 11)
        }
      })
    )

    it.effect("knows keys when a crash has emptied the buckets", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const key = yield* newKey
        yield* admitTimes(30, key)
        yield* sql`TRUNCATE key_buckets`
        assert.deepInclude(yield* admit(key), { _tag: "Admitted", remaining: 29 })
      })
    )

    it.effect("is unavailable, not a hang, while another session holds the bucket", () =>
      Effect.gen(function* () {
        const other = Context.get(yield* Layer.build(yield* secondPool), SqlClient.SqlClient)
        const key = yield* newKey
        yield* admit(key)
        const waiting = Array.makeBy(5, () => timed(Effect.flip(admit(key))))
        const waits = yield* other`SELECT tat FROM key_buckets WHERE key_id = ${key.id} FOR UPDATE`.pipe(
          Effect.andThen(Effect.all(waiting, { concurrency: "unbounded" })),
          other.withTransaction
        )
        for (const { took, value: error } of waits) {
          assert.deepInclude(error, { code: "unavailable", status: 503 })
          assert.include(String(Object(error).detail), "too slow")
          assert.isBelow(took, mostWhileAway)
        }
        assert.strictEqual((yield* admit(key))._tag, "Admitted")
      })
    )

    it.effect("lets a whole burst through whatever the limit is", () =>
      Effect.gen(function* () {
        for (const limit of [1, 7, 13, 59, 601]) {
          const limiter = yield* Layer.build(
            Layer.fresh(RateLimiter.layerPostgres).pipe(
              Layer.provide(settingsLayer({ LIMIT_WRITES_PER_MINUTE: String(limit) }))
            )
          ).pipe(Effect.map(Context.get(RateLimiter)))
          const key = yield* newKey
          const admissions = yield* Effect.all(
            Array.makeBy(limit, () => limiter.admit({ ...key, class: "write" })),
            { concurrency: "unbounded" }
          )
          assert.strictEqual(count(admissions, "Admitted"), limit)
        }
      })
    )
  }
)
