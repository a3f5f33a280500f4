import { DateTime, Effect } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { RateLimited } from "../../domain/Problem.ts"
import type { Settings } from "../Config.ts"
import { oauthError } from "../oauth/OAuthAnswer.ts"
import { flowPage } from "../pages/PrivatePage.ts"
import { floodPage } from "../pages/SignInNotices.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { makeFloodLimit } from "./FloodLimit.ts"
import { clientOf } from "./Peer.ts"
import { renderProblem } from "./RenderProblem.ts"

// What is below these is admitted by a key, a connection or a link, each with limits of its own.
const credentialed = /^\/(?:v1|mcp|view)(?:\/|$)/
const ofOAuth = /^\/(?:token|revoke|register)$/
const ofRest = /^\/auth\//

/** Bounds what one address may POST without a credential, before any of its body is read. */
export const makeAnonymousFloods = (settings: Settings["Service"]) => {
  const perMinute = settings.limits.anonymousPostsPerIpPerMinute
  const limit = makeFloodLimit(perMinute)

  const refused = Effect.fnUntraced(function* (path: string, seconds: number) {
    const detail = `An address may send ${perMinute} of these requests a minute. Try again in ${seconds} seconds.`
    if (ofRest.test(path)) {
      const hint = "Wait `retry_after` seconds."
      return yield* renderProblem(new RateLimited({ detail, hint, limit: perMinute, retry_after: seconds }))
    }
    const record = yield* CurrentRequest
    record.code = "rate_limited"
    const headers = { "retry-after": String(seconds) }
    return ofOAuth.test(path)
      ? oauthError(429, "temporarily_unavailable", detail, headers)
      : HttpServerResponse.setHeaders(flowPage(floodPage(seconds), 429), headers)
  })

  /** The refusal of a request that is one too many, as its address answers; undefined for any other. */
  const refusal = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const path = request.url.split("?", 1)[0]!
    if (request.method !== "POST" || credentialed.test(path)) return undefined
    const spent = limit.spend(clientOf(request, settings), yield* DateTime.nowAsDate)
    yield* Metrics.rateLimitVerdict("anonymous", spent._tag)
    return spent._tag === "Limited" ? yield* refused(path, spent.retryAfter) : undefined
  })

  return { refusal }
}
