import { Cause, Effect, Layer } from "effect"
import { randomUUID } from "node:crypto"
import { HttpMiddleware, HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { internalError, invalid, MisdirectedRequest } from "../../domain/Problem.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { sentWithinRoom } from "../capacity/SendResponse.ts"
import { Settings } from "../config/Settings.ts"
import { makeAnonymousFloods } from "./FloodLimit.ts"
import { crossOriginHeaders, preflightHeaders } from "./CrossOrigin.ts"
import { logged, type RequestRecord, namesLoopback, namesOneHost } from "./CurrentRequest.ts"
import { renderProblem } from "./RenderProblem.ts"
import { pathOf, Routes } from "./Routes.ts"

const linkPaths = /^\/(?:view|download)(?:\/|$)/

/**
 * The headers of every response below a link's URL that does not set its own. In data and files, nothing may run or load,
 * however a browser shows them.
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
 * What applies to every request: an id, the check of its host, OPTIONS without credentials, the headers of all responses, and
 * a problem body if there is no route or a handler has a defect.
 */
export const RequestsLayer = HttpRouter.middleware(
  Effect.gen(function* () {
    const settings = yield* Settings
    const routes = yield* Routes
    const capacity = yield* Capacity
    // Browsers use only https for a year after their last visit (RFC 6797).
    const transportSecurity = settings.baseUrl.startsWith("https:")
      ? { "strict-transport-security": "max-age=31536000" }
      : {}
    const floodRefusal = makeAnonymousFloods(settings, routes)

    const preflight = (request: HttpServerRequest.HttpServerRequest) => {
      const allowed = routes.allowed(request.url)
      if (allowed.length === 0) return routes.refuse(request)
      const headers = { allow: allowed.join(", "), ...preflightHeaders(settings, request, allowed) }
      return Effect.succeed(HttpServerResponse.empty({ status: 204, headers }))
    }

    /** The response to a request that reaches no handler. */
    const respondEarly = (request: HttpServerRequest.HttpServerRequest) => {
      if (settings.localMode && !namesLoopback(request)) {
        const detail = "This service only serves its own machine, at localhost or 127.0.0.1."
        return renderProblem(new MisdirectedRequest({ detail }))
      }
      if (!namesOneHost(request)) return renderProblem(invalid("host", "must be given once"))
      if (!routes.isRoutable(request.url)) return routes.refuse(request)
      return request.method === "OPTIONS" ? preflight(request) : undefined
    }

    return (httpEffect) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const record: RequestRecord = { id: randomUUID() }

        const handled = Effect.catchCause(httpEffect, (cause) => {
          const error = cause.reasons.find(Cause.isFailReason)?.error
          const isUnknown = HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"
          if (isUnknown) return routes.refuse(request)
          if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
          record.cause = cause
          return routes.render(internalError(), request)
        })
        const sent = Effect.flatMap(handled, (response) =>
          // Responses that are the same for everyone, such as scripts, are in memory anyway.
          record.accountId === undefined
            ? Effect.succeed(response)
            : sentWithinRoom(request, response, record.accountId, capacity)
        )
        const flood = floodRefusal(request)
        const unflooded =
          flood === undefined ? sent : Effect.flatMap(flood, (refused) => (refused ? Effect.succeed(refused) : sent))

        return Effect.map(logged(record, request, routes.nameOf, respondEarly(request) ?? unflooded), (response) =>
          HttpServerResponse.setHeaders(response, {
            ...crossOriginHeaders(settings, request),
            ...(linkPaths.test(pathOf(request.url) ?? request.url)
              ? { ...linkHeaders, ...response.headers }
              : undefined),
            // Most responses contain an account's data or secrets. Public ones set their own value.
            "cache-control": response.headers["cache-control"] ?? "no-store",
            "x-content-type-options": "nosniff",
            ...transportSecurity,
            ...record.headers,
            "x-request-id": record.id
          })
        )
      })
  }),
  { global: true }
)

/** Names spans like log lines: by the operation, without anything that the sender wrote. */
export const SpanNames = Layer.effect(
  HttpMiddleware.SpanNameGenerator,
  Effect.map(
    Routes,
    ({ nameOf }) =>
      ({ method, url }) =>
        nameOf(method, url).operation
  )
)
