import { createHash } from "node:crypto"
import type { Pace } from "./Buckets.ts"
import type { Send } from "./RedisLink.ts"

/** A Lua script; all its keys lie in one hash slot. */
interface Script {
  readonly lua: string
  readonly sha: string
}

const script = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

/**
 * Takes a token of every bucket, or of none: the generic cell rate algorithm. A bucket holds when it will be full again, in
 * microseconds of Redis' clock, and vanishes when it is. No bucket is further ahead than its burst, unless the clock was
 * set back: what is beyond is then forgotten for good. ARGV holds the interval and the burst of each.
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

const run = async (
  send: Send,
  { lua, sha }: Script,
  keys: ReadonlyArray<string>,
  values: ReadonlyArray<number> = []
) => {
  const parameters = [String(keys.length), ...keys, ...values.map(String)]
  const reply = await send(["EVALSHA", sha, ...parameters]).catch((error: unknown) =>
    isNoScript(error) ? send(["EVAL", lua, ...parameters]) : Promise.reject(error)
  )
  return reply as ReadonlyArray<number>
}

// The account stands in braces, so that all of its buckets lie in one hash slot.
const keyOf = (account: string, name: string): string => `agent-memory:{${account}}:${name}`

/** A bucket among those of its account. */
interface NamedBucket {
  readonly name: string
  readonly pace: Pace
}

/** Takes a token of each of an account's buckets, or of none; `ahead` tells in how many seconds each is full again. */
export const take = async (
  send: Send,
  account: string,
  buckets: ReadonlyArray<NamedBucket>
): Promise<{ readonly allowed: boolean; readonly ahead: ReadonlyArray<number> }> => {
  const [allowed = 0, ...ahead] = await run(
    send,
    takeScript,
    buckets.map(({ name }) => keyOf(account, name)),
    buckets.flatMap(({ pace: { burst, interval } }) => [interval, burst])
  )
  return { allowed: allowed === 1, ahead: ahead.map((microseconds) => microseconds / 1_000_000) }
}

/** In how many seconds each of an account's buckets is full again. */
export const ahead = async (
  send: Send,
  account: string,
  names: ReadonlyArray<string>
): Promise<ReadonlyArray<number>> =>
  (
    await run(
      send,
      aheadScript,
      names.map((name) => keyOf(account, name))
    )
  ).map((microseconds) => microseconds / 1_000_000)

/**
 * Whether buckets can be kept: a read-only replica, one that is still loading or out of memory refuses. So does a node of
 * a cluster that holds a part of the keys, as one of these lies elsewhere.
 */
export const probe = async (send: Send): Promise<void> => {
  const accounts = ["a", "b", "c", "d", "e", "f", "g", "h"].map((letter) => `probe-${letter}`)
  const buckets = [{ name: "probe", pace: { burst: 1_000_000, interval: 1 } }]
  await Promise.all(accounts.map((account) => take(send, account, buckets)))
}
