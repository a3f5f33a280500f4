import { ByteSize, Context, Effect, Layer, Result, Semaphore } from "effect"
import { isUtf8 } from "node:buffer"
import { HttpIncomingMessage, HttpServerRequest, type HttpServerError } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { RequestBody } from "../../api/Requests.ts"
import { BadBodyIsInvalidToken, SmallBody } from "../../api/SignIn.ts"
import { shorten } from "../../domain/json/JsonIssue.ts"
import { decodeUtf8 } from "../../domain/json/Utf8.ts"
import {
  InvalidJson,
  InvalidRequest,
  invalidToken,
  RequestTooLarge,
  RequestTooLarge400,
  UnsupportedMediaType
} from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { renderProblem, type Problem } from "./RenderProblem.ts"

/** How much of large bodies is worked on at once, in megabytes; further ones wait for their turn. */
const largeBodyMegabytes = 64

const illFormed = (query: string): boolean => {
  if (!query.includes("%")) return false
  return Result.isFailure(Result.try(() => decodeURIComponent(query.replaceAll("+", " "))))
}

const unknownParameters = (query: string): InvalidRequest => {
  const names = [...new Set(new URLSearchParams(query).keys())].slice(0, 20).map((name) => shorten(name, 100))
  return new InvalidRequest({
    detail: "This operation takes no query parameters.",
    errors: names.map((path) => ({ path, message: "is not known here" }))
  })
}

/** `application/json`, in UTF-8 if it says so; no type at all is taken for JSON. */
const isJson = (contentType: string | undefined): boolean => {
  if (contentType === undefined) return true
  const [type, ...parameters] = contentType
    .toLowerCase()
    .split(";")
    .map((part) => part.trim())
  return (
    type === "application/json" &&
    parameters.every((parameter) => !parameter.startsWith("charset=") || /^charset="?utf-?8"?$/.test(parameter))
  )
}

const isTooLarge = (error: HttpServerError.HttpServerError): boolean =>
  error.reason._tag === "RequestParseError" && error.reason.reason === "BodyTooLarge"

const markFault = (bytes: Uint8Array): string | undefined =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? "The text begins with a byte order mark." : undefined

const utf8Fault = (bytes: Uint8Array): string | undefined => {
  const decoded = decodeUtf8(bytes)
  return Result.isFailure(decoded) ? decoded.failure.message : undefined
}

const incomplete = () =>
  new InvalidRequest({ detail: "The body ended early.", errors: [{ path: "", message: "is incomplete" }] })

/**
 * Checks a request's query and body before anything decodes them. It runs after authentication and rate limit, so that
 * nobody without a key can make the service read a body. The framework's own reading reuses what was read here.
 */
export const RequestBodyLayer = Layer.effect(
  RequestBody,
  Effect.gen(function* () {
    const { limits } = yield* Settings
    const largeBodies = yield* Semaphore.make(largeBodyMegabytes)
    const declaring413 = new Set<string>()
    HttpApi.reflect(Api, {
      onGroup: () => undefined,
      onEndpoint: ({ endpoint, errors }) => {
        if (errors.has(413)) declaring413.add(`${endpoint.method} ${endpoint.path}`)
      }
    })

    return RequestBody.of((httpEffect, { endpoint }) => {
      const hasBody = endpoint.payload.size > 0
      const hasQuery = endpoint.query !== undefined
      if (!hasBody && !hasQuery) return httpEffect
      const limit = Context.get(endpoint.annotations, SmallBody) ? limits.authRequestBytes : limits.requestBytes
      const declares413 = declaring413.has(`${endpoint.method} ${endpoint.path}`)
      const tooLarge = () => {
        const problem = { detail: `The body may have ${limit} bytes.`, limit }
        return declares413 ? new RequestTooLarge(problem) : new RequestTooLarge400(problem)
      }
      const hidesBody = Context.get(endpoint.annotations, BadBodyIsInvalidToken)
      const refuse = (problem: Problem) => renderProblem(hidesBody ? invalidToken() : problem)

      return Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        let bytes: Uint8Array | undefined
        if (hasBody) {
          // A body that says it is too large is refused without reading any of it.
          if (Number(request.headers["content-length"] ?? 0) > limit) return yield* refuse(tooLarge())
          const read = yield* request.arrayBuffer.pipe(
            Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(limit)),
            Effect.result
          )
          if (Result.isFailure(read)) return yield* refuse(isTooLarge(read.failure) ? tooLarge() : incomplete())
          bytes = new Uint8Array(read.success)
        }
        const query = request.url.split("?").slice(1).join("?")
        if (!hidesBody && illFormed(query)) {
          const detail = "The query is not well-formed percent-encoding of UTF-8."
          return yield* renderProblem(
            new InvalidRequest({ detail, errors: [{ path: "query", message: "is ill-formed" }] })
          )
        }
        // The framework looks at the parameters of operations that declare some.
        if (!hidesBody && !hasQuery && query !== "") return yield* renderProblem(unknownParameters(query))
        if (bytes !== undefined) {
          if (bytes.length > 0 && !isJson(request.headers["content-type"])) {
            return yield* new UnsupportedMediaType({ detail: "The body must be JSON in UTF-8." })
          }
          // The framework decodes leniently: it would replace ill-formed bytes and drop a byte order mark.
          const fault = isUtf8(bytes) ? markFault(bytes) : utf8Fault(bytes)
          if (fault !== undefined) {
            return yield* refuse(new InvalidJson({ detail: fault, errors: [{ path: "", message: fault }] }))
          }
          // Working on a body takes several times its size.
          const megabytes = Math.min(Math.floor(bytes.length / 1_048_576), largeBodyMegabytes)
          if (megabytes > 0) return yield* largeBodies.withPermits(megabytes)(httpEffect)
        }
        return yield* httpEffect
      })
    })
  })
)
