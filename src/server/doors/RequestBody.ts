import { Context, Effect, Layer, Result, Scope } from "effect"
import { HttpServerRequest, type HttpServerResponse } from "effect/http"
import { BodyBounds } from "../../api/Payloads.ts"
import { BodySize, RequestBody } from "../../api/Middleware.ts"
import { BadBodyIsInvalidToken } from "../../api/AccountApi.ts"
import { IncomingMessage } from "node:http"
import { longestRequest } from "../../domain/Limits.ts"
import { shorten } from "../../domain/json/JsonIssue.ts"
import { invalid, InvalidRequest, invalidToken, type UnsupportedMediaType } from "../../domain/Problem.ts"
import { systemFieldBytes } from "../../domain/RowInput.ts"
import { inTurns } from "../../domain/Turns.ts"
import { Settings } from "../config/Settings.ts"
import { Capacity } from "../capacity/Capacity.ts"
import { arrivedBody, readSmallBody } from "../capacity/ReadBody.ts"
import { announcesMore, encodingFault, readBytes, takeText, tooLarge, type BodyText } from "./Bodies.ts"
import { closeConnection, CurrentRequest } from "./CurrentRequest.ts"
import { declaredRenderer } from "./Problems.ts"
import { renderProblem, type Problem } from "./RenderProblem.ts"

/** Filters can be longer than rows if `LIMIT_ROW_BYTES` is low. */
const smallRow = 65_536

const illFormed = (query: string): boolean =>
  query.includes("%") && Result.isFailure(Result.try(() => decodeURIComponent(query)))

const unknownParameters = (query: string): InvalidRequest => {
  const names = [...new Set(new URLSearchParams(query).keys())].slice(0, 20).map((name) => shorten(name, 100))
  return new InvalidRequest({
    detail: "This operation takes no query parameters.",
    errors: names.map((parameter) => ({ parameter, message: "is not known here" }))
  })
}

/** Of two keys it is unknown which one the sender means. */
const headFault = ({ source }: HttpServerRequest.HttpServerRequest): InvalidRequest | undefined => {
  if (!(source instanceof IncomingMessage) || (source.headersDistinct["idempotency-key"] ?? []).length < 2)
    return undefined
  return invalid("idempotency-key", "must be given once")
}

const announcesContent = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

/** Whether a request that should have no body has one. Some proxies announce a chunked body that is empty. */
const hasContent = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  if (request.headers["transfer-encoding"] === undefined) return true
  const read = yield* Effect.result(readSmallBody(request, 1))
  return Result.isFailure(read) || read.success.length > 0
})

const bodyOfGet = () =>
  new InvalidRequest({
    detail: "A GET request must not have a body.",
    hint: 'Send the query in the URL: ?filter={"status":"open"}, URL-encoded, with sort and limit as further parameters.',
    errors: [{ path: "", message: "must be empty" }]
  })

/**
 * The request with its body as a text that can be taken once. After that, nothing here refers to the text, so its memory can
 * be freed before the request ends.
 */
const withText = (request: HttpServerRequest.HttpServerRequest, given: string): HttpServerRequest.HttpServerRequest => {
  let text = given
  const take = Effect.sync(() => {
    const taken = text
    text = ""
    return taken
  })
  return Object.create(request, { text: { value: take } }) as HttpServerRequest.HttpServerRequest
}

/**
 * Checks a request's query and body before they are decoded. It runs after authentication and rate limit, so that the service
 * reads no body without a valid key. The framework gets the text that was read here.
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

    return RequestBody.of((httpEffect, { endpoint }) => {
      const hasBody = endpoint.payload.size > 0
      const hasQuery = endpoint.query !== undefined
      const bodySize = Context.get(endpoint.annotations, BodySize)
      const limit = sizes[bodySize]
      const isImport = bodySize === "import"
      const bodyBounds = { ...bounds, keepsWhole: isImport }
      const hidesBody = Context.get(endpoint.annotations, BadBodyIsInvalidToken)
      const renderDeclared = declaredRenderer(endpoint)
      const refuse = (problem: Problem) => renderDeclared(hidesBody ? invalidToken() : problem)

      const queryFault = ({ url }: HttpServerRequest.HttpServerRequest): InvalidRequest | undefined => {
        const start = url.indexOf("?")
        if (hidesBody || start === -1) return undefined
        const query = url.slice(start + 1)
        if (illFormed(query)) {
          const detail = "The query is not well-formed percent-encoding of UTF-8."
          return new InvalidRequest({ detail, hint: "Write each literal % as %25." })
        }
        // The framework checks the parameters of operations that declare some.
        return hasQuery || query === "" ? undefined : unknownParameters(query)
      }

      type Answered = Effect.Effect<
        HttpServerResponse.HttpServerResponse,
        Effect.Error<typeof httpEffect> | UnsupportedMediaType,
        Effect.Services<typeof httpEffect> | HttpServerRequest.HttpServerRequest
      >
      const handleText = (request: HttpServerRequest.HttpServerRequest, { fault, text }: BodyText): Answered => {
        if (fault?._tag === "UnsupportedMediaType") return Effect.fail(fault)
        if (fault !== undefined) return refuse(fault)
        const withBody = withText(request, text)
        // Adding to a context is cheap; merging two copies both.
        return Effect.updateContext(httpEffect, (context: Context.Context<Effect.Services<typeof httpEffect>>) =>
          context.pipe(Context.add(BodyBounds, bodyBounds), Context.add(HttpServerRequest.HttpServerRequest, withBody))
        )
      }
      const handle = (request: HttpServerRequest.HttpServerRequest, bytes: Uint8Array | undefined): Answered => {
        const fault = queryFault(request)
        if (fault !== undefined) return renderProblem(fault)
        if (bytes === undefined) return httpEffect
        const decoding = takeText(request.headers, bytes)
        // Most bodies are small and decoded in one step, without an effect.
        const { done, value } = decoding.next()
        if (done === true) return handleText(request, value)
        return Effect.flatMap(inTurns(decoding), (body) => handleText(request, body))
      }

      // Not the request's scope, which lasts until the client has read the response.
      const readAndHandle = (request: HttpServerRequest.HttpServerRequest) =>
        Effect.acquireUseRelease(
          Scope.make(),
          Effect.fnUntraced(function* (scope) {
            const { accountId, keyId } = yield* CurrentRequest
            const from =
              accountId === undefined || keyId === undefined
                ? undefined
                : { sender: { accountId, id: keyId }, capacity, isImport }
            const read = yield* Effect.result(Scope.provide(readBytes(request, limit, from), scope))
            if (Result.isSuccess(read)) return yield* handle(request, read.success)
            const problem = read.failure
            // No operation declares these temporary failures.
            return yield* problem.status === 408 || problem.status === 503 ? renderProblem(problem) : refuse(problem)
          }),
          Scope.close
        )

      return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request): Answered => {
        const fault = headFault(request)
        if (fault !== undefined) return refuse(fault)
        if (endpoint.method === "GET" && announcesContent(request)) {
          return Effect.flatMap(hasContent(request), (has) =>
            has ? Effect.andThen(closeConnection, renderProblem(bodyOfGet())) : handle(request, undefined)
          )
        }
        if (!hasBody) return handle(request, undefined)
        const compressed = encodingFault(request.headers)
        if (compressed !== undefined) return Effect.fail(compressed)
        // A body that announces too many bytes is refused before any is read.
        if (announcesMore(request, limit)) return refuse(tooLarge(limit))
        const arrived = arrivedBody(request)
        return arrived === undefined ? readAndHandle(request) : handle(request, arrived)
      })
    })
  })
)
