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

/** The limit of an address's anonymous requests. `detailOf` describes a refusal for so many seconds. */
const makeAnonymousLimit = (
  { limits: { anonymousPostsPerIpPerMinute: perMinute } }: Settings["Service"],
  detailOf: (perMinute: number, seconds: number) => string
) => {
  const limit = makeFloodLimit(perMinute)
  const spend = Effect.fnUntraced(function* (address: string) {
    const spent = limit.spend(address, yield* DateTime.nowAsDate)
    yield* Metrics.rateLimitVerdict("anonymous", spent._tag)
    if (spent._tag === "Admitted") return
    return yield* new RateLimited({
      detail: detailOf(perMinute, spent.retryAfter),
      hint: "Wait `retry_after` seconds.",
      limit: perMinute,
      retry_after: spent.retryAfter
    })
  })
  return { spend, giveBack: limit.giveBack }
}

// Requests to these need a key, a connection or a link, each with its own limits.
const credentialed = /^\/(?:v1|mcp|view)(?:\/|$)/

/**
 * Limits the requests of an IP address without credentials, before a body is read or anything is looked up: all POSTs, and
 * the personal pages, which look up a session, a sign-in or an app.
 */
export const makeAnonymousFloods = (settings: Settings["Service"], routes: Routes["Service"]) => {
  const limit = makeAnonymousLimit(
    settings,
    (perMinute, seconds) =>
      `An IP address may send ${perMinute} of these requests per minute. Try again in ${seconds} seconds.`
  )

  /** The refusal of a request over the limit, as its route renders it; undefined if it is admitted. */
  return (
    request: HttpServerRequest.HttpServerRequest
  ): Effect.Effect<HttpServerResponse.HttpServerResponse | undefined> | undefined => {
    if (credentialed.test(request.url.split("?", 1)[0]!)) return undefined
    const known = routes.find(request.method, request.url)
    if (request.method !== "POST" && known?.isPersonal !== true) return undefined
    return Effect.matchEffect(limit.spend(clientOf(request, settings)), {
      onSuccess: () => Effect.undefined,
      onFailure: (problem) =>
        Effect.map(CurrentRequest, (record) =>
          refused((known?.render ?? problemResponse)(problem, { request, record }), problem, record)
        )
    })
  }
}

const mostRemembered = 20_000

/**
 * Limits how many unknown secrets an IP address can try per minute. A request of the address is spent before the look-up and
 * returned if the secret is valid, so that many people can share an address. Secrets that this process knows are always
 * admitted.
 */
export const makeGuesses = (settings: Settings["Service"], what: "keys" | "links") => {
  const limit = makeAnonymousLimit(
    settings,
    (perMinute) =>
      `This IP address has sent ${perMinute} requests with unknown ${what} within a minute, which is the limit.`
  )
  // The SHA-256 of secrets that were valid when last used. The least recently used are removed first.
  const valid = new Set<string>()
  const remember = (name: string): void => {
    valid.delete(name)
    valid.add(name)
    if (valid.size > mostRemembered) valid.delete(valid.values().next().value ?? name)
  }

  const lookUpNew = Effect.fnUntraced(function* <A, E, R>(
    name: string,
    lookUp: Effect.Effect<A, E, R>,
    isKnown: (found: A) => boolean
  ) {
    const address = clientOf(yield* HttpServerRequest.HttpServerRequest, settings)
    yield* limit.spend(address)
    const found = yield* lookUp
    if (isKnown(found)) {
      remember(name)
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
    if (!valid.has(name)) return lookUpNew(name, lookUp, isKnown)
    return Effect.map(lookUp, (found) => {
      if (isKnown(found)) remember(name)
      else valid.delete(name)
      return found
    })
  }
}
