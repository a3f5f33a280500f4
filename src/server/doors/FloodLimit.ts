import { DateTime, Effect } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { RateLimited } from "../../domain/Problem.ts"
import type { Settings } from "../config/Settings.ts"
import * as Buckets from "../capacity/Buckets.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { CurrentRequest, clientOf } from "./CurrentRequest.ts"
import { problemResponse, refused } from "./RenderProblem.ts"
import type { Routes } from "./Routes.ts"

/**
 * Limits the requests of an IP address before anything is looked up for them, with a token bucket of `perMinute` tokens that
 * refills evenly. The buckets are in memory, to protect the database, so the limit applies to each instance.
 */
export const makeFloodLimit = (perMinute: number) => {
  const buckets = Buckets.make()
  const pace = Buckets.pace(perMinute, 60)
  return {
    /** Spends a request of an address. `retryAfter`: in how many whole seconds the next one is admitted. */
    spend: (
      address: string,
      now: Date
    ): { readonly _tag: "Admitted" } | { readonly _tag: "Limited"; readonly retryAfter: number } => {
      const { ahead, allowed } = buckets.take(address, pace, now)
      return allowed ? { _tag: "Admitted" } : { _tag: "Limited", retryAfter: Buckets.retryAfter(pace, ahead) }
    },
    /** Returns a spent request to an address. */
    giveBack: (address: string): void => buckets.giveBack(address, pace)
  }
}

/** Spends an anonymous request of an address, or fails with the problem that `refusal` makes. */
const spendAnonymous = Effect.fnUntraced(function* (
  limit: ReturnType<typeof makeFloodLimit>,
  address: string,
  refusal: (retryAfter: number) => RateLimited
) {
  const spent = limit.spend(address, yield* DateTime.nowAsDate)
  yield* Metrics.rateLimitVerdict("anonymous", spent._tag)
  if (spent._tag === "Limited") return yield* refusal(spent.retryAfter)
})

// Requests to these need a key, a connection or a link, each with its own limits.
const credentialed = /^\/(?:v1|mcp|view)(?:\/|$)/

/**
 * Limits the requests of an IP address without credentials, before a body is read or anything is looked up: all POSTs, and
 * the personal pages, which look up a session, a sign-in or an app.
 */
export const makeAnonymousFloods = (settings: Settings["Service"], routes: Routes["Service"]) => {
  const perMinute = settings.limits.anonymousPostsPerIpPerMinute
  const limit = makeFloodLimit(perMinute)

  /** The refusal of a request over the limit, as its route renders it; undefined if it is admitted. */
  return (
    request: HttpServerRequest.HttpServerRequest
  ): Effect.Effect<HttpServerResponse.HttpServerResponse | undefined> | undefined => {
    if (credentialed.test(request.url.split("?", 1)[0]!)) return undefined
    const known = routes.find(request.method, request.url)
    if (request.method !== "POST" && known?.isPersonal !== true) return undefined
    const refusal = (seconds: number) =>
      new RateLimited({
        detail: `An IP address may send ${perMinute} of these requests per minute. Try again in ${seconds} seconds.`,
        hint: "Wait `retry_after` seconds.",
        limit: perMinute,
        retry_after: seconds
      })
    return Effect.catch(spendAnonymous(limit, clientOf(request, settings), refusal), (problem) =>
      Effect.map(CurrentRequest, (record) =>
        refused((known?.render ?? problemResponse)(problem, { request, record }), problem, record)
      )
    ) as Effect.Effect<HttpServerResponse.HttpServerResponse | undefined>
  }
}

const mostRemembered = 20_000

/** The SHA-256 of secrets that were valid when last used. The least recently used are removed first. */
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
 * Limits how many unknown secrets an IP address can try per minute. A request of the address is spent before the look-up and
 * returned if the secret is valid, so that many people can share an address. Secrets that this process knows are always
 * admitted.
 */
export const makeGuesses = (settings: Settings["Service"], what: "keys" | "links") => {
  const perMinute = settings.limits.anonymousPostsPerIpPerMinute
  const limit = makeFloodLimit(perMinute)
  const memory = makeMemory()

  const refusal = (retryAfter: number) =>
    new RateLimited({
      detail: `This IP address has sent ${perMinute} requests with unknown ${what} within a minute, which is the limit.`,
      hint: "Wait `retry_after` seconds.",
      limit: perMinute,
      retry_after: retryAfter
    })

  const lookUpNew = Effect.fnUntraced(function* <A, E, R>(
    name: string,
    lookUp: Effect.Effect<A, E, R>,
    isKnown: (found: A) => boolean
  ) {
    const address = clientOf(yield* HttpServerRequest.HttpServerRequest, settings)
    yield* spendAnonymous(limit, address, refusal)
    const found = yield* lookUp
    if (isKnown(found)) {
      memory.remember(name)
      limit.giveBack(address)
    }
    return found
  })

  /** Looks up a secret by its SHA-256, unless the limit is reached. */
  return <A, E, R>(
    hash: Uint8Array,
    lookUp: Effect.Effect<A, E, R>,
    isKnown: (found: A) => boolean
  ): Effect.Effect<A, E | RateLimited, R | HttpServerRequest.HttpServerRequest> => {
    const name = Buffer.from(hash).toString("base64")
    if (!memory.knows(name)) return lookUpNew(name, lookUp, isKnown)
    return Effect.map(lookUp, (found) => {
      if (isKnown(found)) memory.remember(name)
      else memory.forget(name)
      return found
    })
  }
}
