import { DateTime, Effect } from "effect"
import { HttpServerRequest } from "effect/http"
import { RateLimited } from "../../domain/Problem.ts"
import type { Settings } from "../Config.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { makeFloodLimit } from "./FloodLimit.ts"
import { clientOf } from "./Peer.ts"

const mostRemembered = 20_000

/** The SHA-256 of secrets that opened something when they were last shown, the least recently shown forgotten first. */
const makeMemory = () => {
  const names = new Set<string>()
  const forget = (name: string): void => void names.delete(name)
  const remember = (name: string): void => {
    forget(name)
    names.add(name)
    if (names.size > mostRemembered) forget(names.values().next().value ?? name)
  }
  return { knows: (name: string) => names.has(name), remember, forget }
}

/**
 * Bounds how many secrets that open nothing one address may show a minute, before any is looked up. One request is spent of
 * the address meanwhile, and given back where the secret opens something, so that many people behind one address keep it
 * full. Whoever is known to this process passes, whatever else its address sends.
 */
export const makeGuesses = (settings: Settings["Service"], what: "keys" | "links") => {
  const perMinute = settings.limits.anonymousPostsPerIpPerMinute
  const limit = makeFloodLimit(perMinute)
  const memory = makeMemory()

  const spend = Effect.fnUntraced(function* (address: string) {
    const spent = limit.spend(address, yield* DateTime.nowAsDate)
    yield* Metrics.rateLimitVerdict("anonymous", spent._tag)
    if (spent._tag === "Admitted") return
    return yield* new RateLimited({
      detail: `An address may send ${perMinute} requests with unknown ${what} a minute, and has.`,
      hint: "Wait `retry_after` seconds.",
      limit: perMinute,
      retry_after: spent.retryAfter
    })
  })

  /** Looks a secret up by its SHA-256, or refuses to. */
  return Effect.fnUntraced(function* <A, E, R>(
    hash: Uint8Array,
    lookUp: Effect.Effect<A, E, R>,
    isKnown: (found: A) => boolean
  ) {
    const name = Buffer.from(hash).toString("base64")
    const address = clientOf(yield* HttpServerRequest.HttpServerRequest, settings)
    const isNew = !memory.knows(name)
    if (isNew) yield* spend(address)
    const found = yield* lookUp
    if (isKnown(found)) {
      memory.remember(name)
      if (isNew) limit.giveBack(address)
    } else {
      memory.forget(name)
    }
    return found
  })
}
