import { Effect, Layer, Option, type Redacted } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import type { RequestClass } from "./Admission.ts"
import { makeOver, RateLimiter } from "./RateLimiter.ts"
import { RateLimiterRepo } from "./RateLimiterRepo.ts"
import * as RedisBuckets from "./RedisBuckets.ts"
import { RedisLink, type RedisLost } from "./RedisLink.ts"

/** The bucket of a key, connection or link; the account's own has the empty id. */
const bucketOf = (id: string, wanted: RequestClass): string => `${id}:${wanted}`

const layerRedisNoDeps = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const repo = yield* RateLimiterRepo
    const link = yield* RedisLink
    const fallback = yield* RateLimiter

    const redis = makeOver(repo, (yield* Settings).limits, {
      take: (owner, wanted, paces) =>
        Effect.map(
          link.ask((send) =>
            RedisBuckets.take(send, owner.accountId, [
              { name: bucketOf("", wanted), pace: paces.account },
              { name: bucketOf(owner.id, wanted), pace: paces.own }
            ])
          ),
          ({ ahead: [account = 0, own = 0], allowed }) => ({ allowed, ahead: { own, account } })
        ),
      ahead: ({ accountId, id }) =>
        Effect.map(
          link.ask((send) =>
            RedisBuckets.ahead(send, accountId, [
              bucketOf(id, "write"),
              bucketOf("", "write"),
              bucketOf(id, "read"),
              bucketOf("", "read")
            ])
          ),
          ([ownWrite = 0, accountWrite = 0, ownRead = 0, accountRead = 0]) => ({
            write: { own: ownWrite, account: accountWrite },
            read: { own: ownRead, account: accountRead }
          })
        )
    })

    const orElse =
      <Input, A>(
        inRedis: (input: Input) => Effect.Effect<A, RedisLost | Unavailable>,
        otherwise: (input: Input) => Effect.Effect<A, Unavailable>
      ) =>
      (input: Input): Effect.Effect<A, Unavailable> =>
        Effect.flatMap(link.isUp, (isUp) =>
          isUp ? Effect.catchTag(inRedis(input), "RedisLost", () => otherwise(input)) : otherwise(input)
        )

    return RateLimiter.of({
      admit: orElse(redis.admit, fallback.admit),
      spend: orElse(redis.spend, fallback.spend),
      remaining: orElse(redis.remaining, fallback.remaining)
    })
  })
)

/**
 * Buckets in Redis, exact over all instances that share it; keys are still found in PostgreSQL, so that a revoked one is
 * refused at once. While Redis is lost, requests are counted in PostgreSQL, where every bucket was full before.
 */
export const layerRedis = (url: Redacted.Redacted) =>
  layerRedisNoDeps.pipe(
    Layer.provide([RedisLink.layer(url, RedisBuckets.probe), RateLimiter.layerPostgresNoDeps]),
    Layer.provide(RateLimiterRepo.layer)
  )

/** Buckets where the settings want them: in Redis with `REDIS_URL`, else in PostgreSQL. */
export const RateLimiterLayer = Layer.unwrap(
  Effect.map(Settings, ({ redisUrl }) =>
    Option.match(redisUrl, { onNone: () => RateLimiter.layerPostgres, onSome: layerRedis })
  )
)
