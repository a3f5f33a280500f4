import { Context, Effect, Layer, Result, Scope } from "effect"
import { HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApi } from "effect/http-api"
import { Api } from "../../api/Api.ts"
import { BodyBounds } from "../../api/JsonBody.ts"
import { BodySize, RequestBody } from "../../api/Requests.ts"
import { BadBodyIsInvalidToken } from "../../api/SignIn.ts"
import { IncomingMessage } from "node:http"
import { invalidPlaces } from "../../domain/InvalidPlaces.ts"
import { longestRequest } from "../../domain/Limits.ts"
import { shorten } from "../../domain/json/JsonIssue.ts"
import {
  InvalidRequest,
  invalidToken,
  RequestTimeout,
  RequestTooLarge,
  RequestTooLarge400
} from "../../domain/Problem.ts"
import { systemFieldBytes } from "../../domain/Write.ts"
import { Settings } from "../Config.ts"
import { Capacity, noRoom } from "../capacity/Capacity.ts"
import { readSmallBody } from "../capacity/ReadBody.ts"
import { readSharedBody } from "../capacity/ReadSharedBody.ts"
import type { Room } from "../capacity/Room.ts"
import { bytesFault, encodingFault } from "./BodyFaults.ts"
import { CurrentRequest } from "./CurrentRequest.ts"
import { renderProblem, type Problem } from "./RenderProblem.ts"

/** Filters may be longer than rows where those must be small. */
const smallRow = 65_536

/** The refusal of a large body that finds no room. */
const busy = noRoom({
  account: "This account sends too many large bodies at once. Send them one after another.",
  service: "The service reads as many large bodies as it can at the moment."
})

const illFormed = (query: string): boolean => {
  if (!query.includes("%")) return false
  return Result.isFailure(Result.try(() => decodeURIComponent(query.replaceAll("+", " "))))
}

const unknownParameters = (query: string): InvalidRequest => {
  const names = [...new Set(new URLSearchParams(query).keys())].slice(0, 20).map((name) => shorten(name, 100))
  return new InvalidRequest({
    detail: "This operation takes no query parameters.",
    errors: names.map((parameter) => ({ parameter, message: "is not known here" }))
  })
}

const incomplete = () =>
  new InvalidRequest({ detail: "The body ended early.", errors: [{ path: "", message: "is incomplete" }] })

/** A body of whoever the request is of; nobody's can't be a large one. */
const bodyOf = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limit: number,
  room: Room,
  capacity: Capacity["Service"]
) {
  const { accountId, keyId } = yield* CurrentRequest
  if (accountId === undefined || keyId === undefined) return yield* readSmallBody(request, limit)
  return yield* readSharedBody(request, limit, { accountId, id: keyId }, room, capacity)
})

/** A key that is given twice is two keys, and which of them the sender means is not known. */
const headFault = ({ source }: HttpServerRequest.HttpServerRequest): InvalidRequest | undefined => {
  if (!(source instanceof IncomingMessage) || (source.headersDistinct["idempotency-key"] ?? []).length < 2)
    return undefined
  return invalidPlaces([{ parameter: "idempotency-key", message: "must be given once" }])
}

/** Whether a request that should have no body has one; proxies announce bodies in chunks that turn out empty. */
const hasContent = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const { "content-length": length = "0", "transfer-encoding": encoding } = request.headers
  if (encoding === undefined) return Number(length) > 0
  const read = yield* Effect.result(readSmallBody(request, 1))
  return Result.isFailure(read) || read.success.length > 0
})

const bodyOfGet = () =>
  new InvalidRequest({
    detail: "A GET request has no body here, and what stands in it would not be looked at.",
    hint: 'Send what you ask for in the address: ?filter={"status":"open"}, URL-encoded, and sort and limit beside it.',
    errors: [{ path: "", message: "must be empty" }]
  })

/** For answers that come before the body did: what still comes of it is nobody's request. */
const hangUp = Effect.map(HttpServerResponse.setHeader("connection", "close"))

/** The answer to a body that stopped halfway. */
const renderLateBody = Effect.suspend(() =>
  hangUp(renderProblem(new RequestTimeout({ detail: "The rest of the body did not arrive in time." })))
)

/**
 * Checks a request's query and body before anything decodes them. It runs after authentication and rate limit, so that
 * nobody without a key can make the service read a body. The framework's own reading reuses what was read here.
 */
export const RequestBodyLayer = Layer.effect(
  RequestBody,
  Effect.gen(function* () {
    const { limits } = yield* Settings
    const capacity = yield* Capacity
    const sizes = {
      small: limits.authRequestBytes,
      row: Math.min(longestRequest(1, limits.rowBytes), limits.requestBytes),
      usual: limits.requestBytes,
      import: limits.importRequestBytes
    }
    const bounds = { limits: { ...limits }, textLength: Math.max(limits.rowBytes, smallRow) + systemFieldBytes }
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
      const bodySize = Context.get(endpoint.annotations, BodySize)
      const limit = sizes[bodySize]
      const declares413 = declaring413.has(`${endpoint.method} ${endpoint.path}`)
      const tooLarge = () => {
        const problem = { detail: `The body may have ${limit} bytes.`, limit }
        return declares413 ? new RequestTooLarge(problem) : new RequestTooLarge400(problem)
      }
      const room = bodySize === "import" ? capacity.imports : capacity.bodies
      const hidesBody = Context.get(endpoint.annotations, BadBodyIsInvalidToken)
      const refuse = (problem: Problem) => renderProblem(hidesBody ? invalidToken() : problem)

      const answer = Effect.fnUntraced(function* (scope: Scope.Scope) {
        const request = yield* HttpServerRequest.HttpServerRequest
        let bytes: Uint8Array | undefined
        const fault = headFault(request)
        if (fault !== undefined) return yield* refuse(fault)
        if (endpoint.method === "GET" && (yield* hasContent(request))) return yield* hangUp(renderProblem(bodyOfGet()))
        if (hasBody) {
          const compressed = encodingFault(request.headers)
          if (compressed !== undefined) return yield* compressed
          // A body that says it is too large is refused without reading any of it.
          if (Number(request.headers["content-length"] ?? 0) > limit) return yield* refuse(tooLarge())
          const read = yield* Effect.result(Scope.provide(bodyOf(request, limit, room, capacity), scope))
          if (Result.isFailure(read)) {
            if (read.failure._tag === "Busy") return yield* hangUp(renderProblem(busy(read.failure)))
            if (read.failure.fault === "late") return yield* renderLateBody
            return yield* refuse(read.failure.fault === "too large" ? tooLarge() : incomplete())
          }
          bytes = read.success
        }
        const query = request.url.split("?").slice(1).join("?")
        if (!hidesBody && illFormed(query)) {
          const detail = "The query is not well-formed percent-encoding of UTF-8."
          return yield* renderProblem(
            new InvalidRequest({ detail, hint: "Write each % that stands for itself as %25." })
          )
        }
        // The framework looks at the parameters of operations that declare some.
        if (!hidesBody && !hasQuery && query !== "") return yield* renderProblem(unknownParameters(query))
        if (bytes !== undefined) {
          const fault = bytesFault(request.headers, bytes)
          if (fault?._tag === "UnsupportedMediaType") return yield* fault
          if (fault !== undefined) return yield* refuse(fault)
        }
        return yield* Effect.provideService(httpEffect, BodyBounds, bounds)
      })

      // A scope of its own: the request's lasts until the answer was read, and its reader may take his time.
      return Effect.acquireUseRelease(Scope.make(), answer, Scope.close)
    })
  })
)
