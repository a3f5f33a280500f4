import { Effect, Layer, Option, type Redacted } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { makeOver, type Owner, RateLimiter } from "./RateLimiter.ts"
import { RateLimiterRepo } from "./RateLimiterRepo.ts"
import * as RedisBuckets from "./RedisBuckets.ts"
import { RedisLink, type RedisLost } from "./RedisLink.ts"

const layerRedisNoDeps = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const repo = yield* RateLimiterRepo
    const link = yield* RedisLink
    const fallback = yield* RateLimiter
    const ownerOf = ({ accountId, id }: Owner) => `${accountId}/${id}`

    const redis = makeOver(repo, (yield* Settings).limits, {
      take: (owner, wanted, pace, now) =>
        Effect.map(
          link.ask((send) => RedisBuckets.take(send, { owner: ownerOf(owner), name: wanted }, pace)),
          (verdict) => ({ ...verdict, now })
        ),
      ahead: (owner) =>
        Effect.map(
          link.ask((send) => RedisBuckets.ahead(send, ownerOf(owner), ["write", "read"])),
          ([write = 0, read = 0]) => ({ write, read })
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
