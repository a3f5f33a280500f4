import { createHash } from "node:crypto"
import type { Pace, Verdict } from "./Buckets.ts"
import type { Send } from "./RedisLink.ts"

/** A Lua script; all its keys lie in one hash slot. */
interface Script {
  readonly lua: string
  readonly sha: string
}

const script = (lua: string): Script => ({ lua, sha: createHash("sha1").update(lua).digest("hex") })

/**
 * The generic cell rate algorithm. A bucket holds when it will be full again, in microseconds of Redis' clock, and
 * vanishes when it is. A refusal keeps it. No bucket is further ahead than its burst, unless the clock was set back.
 */
const takeScript = script(`
local time = redis.call("TIME")
local now = time[1] * 1000000 + time[2]
local interval = tonumber(ARGV[1])
local span = interval * tonumber(ARGV[2])
local full = tonumber(redis.call("GET", KEYS[1]) or "0")
local ahead = math.min(math.max(full - now, 0), span)
if ahead + interval > span then
  return {0, ahead}
end
ahead = ahead + interval
redis.call("SET", KEYS[1], string.format("%.0f", now + ahead), "PX", math.ceil(ahead / 1000))
return {1, ahead}
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

const keyOf = (owner: string, name: string): string => `agent-memory:{${owner}}:${name}`

/** Takes a token of an owner's bucket, if there is one. */
export const take = async (
  send: Send,
  bucket: { readonly owner: string; readonly name: string },
  { burst, interval }: Pace
): Promise<Omit<Verdict, "now">> => {
  const [allowed = 0, ahead = 0] = await run(send, takeScript, [keyOf(bucket.owner, bucket.name)], [interval, burst])
  return { allowed: allowed === 1, ahead: ahead / 1_000_000 }
}

/** In how many seconds each of an owner's buckets is full again. */
export const ahead = async (send: Send, owner: string, names: ReadonlyArray<string>): Promise<ReadonlyArray<number>> =>
  (
    await run(
      send,
      aheadScript,
      names.map((name) => keyOf(owner, name))
    )
  ).map((microseconds) => microseconds / 1_000_000)

/**
 * Whether buckets can be kept: a read-only replica, one that is still loading or out of memory refuses. So does a node of
 * a cluster that holds a part of the keys, as one of these lies elsewhere.
 */
export const probe = async (send: Send): Promise<void> => {
  const owners = ["a", "b", "c", "d", "e", "f", "g", "h"].map((letter) => `probe-${letter}`)
  await Promise.all(owners.map((owner) => take(send, { owner, name: "probe" }, { burst: 1_000_000, interval: 1 })))
}
