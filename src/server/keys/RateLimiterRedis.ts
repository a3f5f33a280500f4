import { Effect, Layer, Option, type Redacted } from "effect"
import { hash } from "node:crypto"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import type { Pace } from "../capacity/Buckets.ts"
import { makeOver, RateLimiter } from "./RateLimiter.ts"
import { RateLimiterRepo } from "./RateLimiterRepo.ts"
import { RedisLink, type RedisLost, type Send } from "./RedisLink.ts"

const script = (lua: string) => ({ lua, sha: hash("sha1", lua) })

/**
 * Takes a token from every bucket or from none (generic cell rate algorithm). A bucket's value is the time at which it is
 * full again, in microseconds of Redis' clock; it expires then. A value further ahead than the burst means that the clock
 * was set back; the excess is dropped. ARGV has the interval and the burst of each bucket.
 */
const takeScript = script(`
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local ahead = {}
local beyond = {}
local allowed = 1
for index, key in ipairs(KEYS) do
  local interval = tonumber(ARGV[2 * index - 1])
  local span = interval * tonumber(ARGV[2 * index])
  local full = tonumber(redis.call("GET", key) or "0")
  ahead[index] = math.min(math.max(full - now, 0), span)
  beyond[index] = full - now > span
  if ahead[index] + interval > span then
    allowed = 0
  end
end
for index, key in ipairs(KEYS) do
  if allowed == 1 then
    ahead[index] = ahead[index] + tonumber(ARGV[2 * index - 1])
  end
  if allowed == 1 or beyond[index] then
    redis.call("SET", key, string.format("%.0f", now + ahead[index]), "PX", math.ceil(ahead[index] / 1000))
  end
end
return {allowed, unpack(ahead)}
`)

const aheadScript = script(`
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local ahead = {}
for index, key in ipairs(KEYS) do
  ahead[index] = math.max(tonumber(redis.call("GET", key) or "0") - now, 0)
end
return ahead
`)

const isNoScript = (error: unknown): boolean => error instanceof Error && error.message.startsWith("NOSCRIPT")

/** Runs a script on some of an account's buckets. The account is in braces, so that all of them are in one hash slot. */
const run = async (
  send: Send,
  { lua, sha }: ReturnType<typeof script>,
  account: string,
  names: ReadonlyArray<string>,
  values: ReadonlyArray<number> = []
) => {
  const keys = names.map((name) => `agent-memory:{${account}}:${name}`)
  const parameters = [String(keys.length), ...keys, ...values.map(String)]
  const reply = await send(["EVALSHA", sha, ...parameters]).catch((error: unknown) =>
    isNoScript(error) ? send(["EVAL", lua, ...parameters]) : Promise.reject(error)
  )
  return reply as ReadonlyArray<number>
}

const seconds = (microseconds: number): number => microseconds / 1_000_000

/** Takes a token from each of an account's buckets, or from none. `ahead`: in how many seconds each is full again. */
const takeAll = async (
  send: Send,
  account: string,
  buckets: ReadonlyArray<{ readonly name: string; readonly pace: Pace }>
) => {
  const names = buckets.map(({ name }) => name)
  const paces = buckets.flatMap(({ pace: { burst, interval } }) => [interval, burst])
  const [allowed, ...ahead] = await run(send, takeScript, account, names, paces)
  return { allowed: allowed === 1, ahead: ahead.map(seconds) }
}

/**
 * Checks that buckets can be stored. A replica, a server that is loading or out of memory, and a node of a cluster with only
 * a part of the keys fail.
 */
export const probe = async (send: Send): Promise<void> => {
  const accounts = ["a", "b", "c", "d", "e", "f", "g", "h"].map((letter) => `probe-${letter}`)
  const buckets = [{ name: "probe", pace: { burst: 1_000_000, interval: 1 } }]
  await Promise.all(accounts.map((account) => takeAll(send, account, buckets)))
}

const layerRedisNoDeps = Layer.effect(
  RateLimiter,
  Effect.gen(function* () {
    const repo = yield* RateLimiterRepo
    const link = yield* RedisLink
    const fallback = yield* RateLimiter

    const redis = yield* makeOver(repo, (yield* Settings).limits, {
      take: (accountId, buckets) => link.ask((send) => takeAll(send, accountId, buckets)),
      ahead: (accountId, names) =>
        link.ask(async (send) => (await run(send, aheadScript, accountId, names)).map(seconds))
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
 * Buckets in Redis, exact over all instances that share it. Keys are found in PostgreSQL, so that a revoked one is refused at
 * once. While Redis is unavailable, requests are counted in PostgreSQL, with full buckets at first.
 */
export const layerRedis = (url: Redacted.Redacted) =>
  layerRedisNoDeps.pipe(
    Layer.provide([RedisLink.layer(url, probe), RateLimiter.layerPostgres]),
    Layer.provide(RateLimiterRepo.layer)
  )

/** The service's limiter: in Redis with `REDIS_URL`, else in PostgreSQL. */
export const RateLimiterLayer = Layer.unwrap(
  Effect.map(Settings, ({ redisUrl }) =>
    Option.match(redisUrl, { onNone: () => RateLimiter.layerPostgres, onSome: layerRedis })
  )
)
