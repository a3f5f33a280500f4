import { Cause, Effect } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { HttpRouter, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { internalError, MisdirectedRequest } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import type { RequestRecord } from "./CurrentRequest.ts"
import { namesLoopback } from "./Peer.ts"
import { renderProblem } from "./RenderProblem.ts"
import { logged } from "./RequestLog.ts"
import { Routes } from "./Routes.ts"

const isUnknownRoute = (error: unknown): boolean =>
  HttpServerError.isHttpServerError(error) && error.reason._tag === "RouteNotFound"

/**
 * What holds for every request, whatever it asks for: an id, a host that is ours, OPTIONS without credentials, and a
 * problem body where no route took it or a handler broke.
 */
export const RequestsLayer = HttpRouter.middleware(
  Effect.gen(function* () {
    const { localMode } = yield* Settings
    const routes = yield* Routes

    const unrouted = ({ method, url }: HttpServerRequest.HttpServerRequest) =>
      renderProblem(routes.refusal(method, url))

    return (httpEffect) =>
      Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const id = uuidV7Unsafe()
        const record: RequestRecord = { id }
        const answered = Effect.gen(function* () {
          if (localMode && !namesLoopback(request)) {
            const detail = "This service answers for its own machine only, at localhost or 127.0.0.1."
            return yield* renderProblem(new MisdirectedRequest({ detail }))
          }
          if (!routes.isRoutable(request.url)) return yield* unrouted(request)
          if (request.method === "OPTIONS") {
            const allowed = routes.allowed(request.url)
            return allowed.length === 0
              ? yield* unrouted(request)
              : HttpServerResponse.empty({ status: 204, headers: { allow: allowed.join(", ") } })
          }
          return yield* Effect.catchCause(httpEffect, (cause) => {
            const failure = cause.reasons.find(Cause.isFailReason)
            if (failure !== undefined && isUnknownRoute(failure.error)) return unrouted(request)
            if (Cause.hasInterrupts(cause)) return Effect.failCause(cause)
            record.cause = cause
            return renderProblem(internalError())
          })
        })
        const response = yield* logged(record, request, routes.operation, answered)
        return HttpServerResponse.setHeaders(response, {
          // Answers hold what one account stored, or secrets that are shown once.
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
          "x-request-id": id
        })
      })
  }),
  { global: true }
)
