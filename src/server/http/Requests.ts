import { Cause, Effect } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { invalidPlaces } from "../../domain/InvalidPlaces.ts"
import { internalError, MisdirectedRequest } from "../../domain/Problem.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { sentWithinRoom } from "../capacity/SendAnswer.ts"
import { Settings } from "../Config.ts"
import { makeAnonymousFloods } from "./AnonymousFloods.ts"
import { crossOriginHeaders, preflightHeaders } from "./CrossOrigin.ts"
import type { RequestRecord } from "./CurrentRequest.ts"
import { namesLoopback, namesOneHost } from "./Peer.ts"
import { renderProblem } from "./RenderProblem.ts"
import { logged } from "./RequestLog.ts"
import { Routes } from "./Routes.ts"

const hostFault = { parameter: "host", message: "must be given once" }

const isUnknownRoute = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/**
 * What every answer under a link's address is sent with, unless it says otherwise itself. Data and files are nothing to
 * show: whatever a browser makes of them, nothing in them runs or loads.
 */
const linkHeaders = {
  "content-security-policy": "default-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin"
}

/**
 * What holds for every request, whatever it asks for: an id, a host that is ours, OPTIONS without credentials, and a
 * problem body where no route took it or a handler broke.
 */
export const RequestsLayer = HttpRouter.middleware(
  Effect.gen(function* () {
    const settings = yield* Settings
    const routes = yield* Routes
    const capacity = yield* Capacity
    // For a year a browser that has been here asks over https alone (RFC 6797).
    const transportSecurity = settings.baseUrl.startsWith("https:")
      ? { "strict-transport-security": "max-age=31536000" }
      : {}
    const { refusal: floodRefusal } = makeAnonymousFloods(settings)

    const unrouted = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
      renderProblem(routes.refusal(method, url))

    return (httpEffect) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const id = uuidV7Unsafe()
        const record: RequestRecord = { id }
        const answered = Effect.gen(function* () {
          if (settings.localMode && !namesLoopback(request)) {
            const detail = "This service answers for its own machine only, at localhost or 127.0.0.1."
            return yield* renderProblem(new MisdirectedRequest({ detail }))
          }
          if (!namesOneHost(request)) return yield* renderProblem(invalidPlaces([hostFault]))
          if (!routes.isRoutable(request.url)) return yield* unrouted(request)
          if (request.method === "OPTIONS") {
            const allowed = routes.allowed(request.url)
            return allowed.length === 0
              ? yield* unrouted(request)
              : HttpServerResponse.empty({
                  status: 204,
                  headers: { allow: allowed.join(", "), ...preflightHeaders(settings, request, allowed) }
                })
          }
          const flooded = yield* floodRefusal(request)
          if (flooded !== undefined) return flooded
          const response = yield* Effect.catchCause(httpEffect, (cause) => {
            const failure = cause.reasons.find(Cause.isFailReason)
            if (failure !== undefined && isUnknownRoute(failure.error)) return unrouted(request)
            if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
            record.cause = cause
            return renderProblem(internalError())
          })
          // What is everybody's, as scripts are, is in memory anyway.
          if (record.accountId === undefined) return response
          return yield* sentWithinRoom(request, response, record.accountId, capacity)
        })
        const response = yield* logged(record, request, routes.operation, answered)
        const careful = routes.isOfLink(request.url)
          ? HttpServerResponse.setHeaders(response, { ...linkHeaders, ...response.headers })
          : response
        return HttpServerResponse.setHeaders(careful, {
          ...crossOriginHeaders(settings, request),
          // Answers hold what one account stored, or secrets that are shown once: only what is everybody's says otherwise.
          "cache-control": response.headers["cache-control"] ?? "no-store",
          "x-content-type-options": "nosniff",
          ...transportSecurity,
          "x-request-id": id
        })
      })
  }),
  { global: true }
)
