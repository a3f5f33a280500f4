import { Cause, Context, Effect, Exit, LogLevel, References, Option } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Metrics from "../telemetry/Metrics.ts"
import { RequestLine } from "../telemetry/Logging.ts"
import { IncomingMessage } from "node:http"
import { isLoopbackHost, type Settings } from "../config/Settings.ts"
import { clientIp } from "../config/ClientIp.ts"

/** What is known about the current request, for its log line and response. Filled in while it is handled. */
export interface RequestRecord {
  /** In the response's `X-Request-Id`, in a problem's body and in every log line of the request. */
  readonly id: string
  /** Such as `rows.query`. */
  operation?: string
  accountId?: string
  keyId?: string
  connectionId?: string
  /** The problem's code, if the response is one. */
  code?: string
  /** Header fields of the response, whatever its status. */
  headers?: Readonly<Record<string, string>>
  /** The cause of a 500. */
  cause?: Cause.Cause<unknown>
}

/** The current request. */
export const CurrentRequest = Context.Reference<RequestRecord>("agent-memory/server/doors/CurrentRequest", {
  defaultValue: () => ({ id: "" })
})

/** Makes the response close the connection, because the rest of an unread body may still arrive on it. */
export const closeConnection = Effect.map(CurrentRequest, (record) => {
  record.headers = { ...record.headers, connection: "close" }
})

/** nginx's status for a client that closed the connection before the response. */
const clientGone = 499

/** Operations that are logged at debug level. */
const quietOperations = new Set(["GET /assets/:file", "GET /favicon.ico", "GET /health", "GET /ready"])

/**
 * Handles a request with its record, counts it and writes its log line. The line has the operation and never the URL, which
 * may contain a secret. All other lines of the request have its id.
 */
export const logged = <E, R>(
  record: RequestRecord,
  request: HttpServerRequest.HttpServerRequest,
  nameOf: (method: string, url: string) => { readonly operation: string; readonly path: string },
  answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
  Effect.withFiber((fiber) => {
    const start = performance.now()
    const { end } = Metrics.requestBegun()
    const finish = (exit: Exit.Exit<HttpServerResponse.HttpServerResponse, E>) => {
      end()
      const duration = performance.now() - start
      const operation = record.operation ?? nameOf(request.method, request.url).operation
      const cause = Exit.isFailure(exit) ? exit.cause : record.cause
      const status = Exit.isSuccess(exit) ? exit.value.status : Cause.hasInterrupts(exit.cause) ? clientGone : 500
      Metrics.requestAnswered(fiber.context, operation, status, duration)
      // A tool's defect is a result of its call, whose status is 200.
      const isError = status >= 500 || record.cause !== undefined
      const level = isError ? "Error" : quietOperations.has(operation) ? "Debug" : "Info"
      if (LogLevel.isGreaterThan(fiber.getRef(References.MinimumLogLevel), level)) return Exit.void
      const { accountId, code, connectionId, id, keyId } = record
      const line = new RequestLine(
        {
          request_id: id,
          method: request.method,
          operation,
          status,
          duration_ms: Math.round(duration * 100) / 100,
          account_id: accountId,
          key_id: keyId,
          connection_id: connectionId,
          code
        },
        nameOf(request.method, request.url).path
      )
      return Effect.logWithLevel(level)(...(isError && cause !== undefined ? [line, cause] : [line]))
    }
    return Effect.onExit(
      Effect.updateContext(answer, (context: Context.Context<R>) =>
        context.pipe(
          Context.add(CurrentRequest, record),
          Context.add(References.CurrentLogAnnotations, { request_id: record.id })
        )
      ),
      finish
    )
  })

/** The client's IP address for limits: behind trusted proxies, the one that they report. */
export const clientOf = (request: HttpServerRequest.HttpServerRequest, settings: Settings["Service"]): string =>
  clientIp({
    peer: Option.getOrUndefined(request.remoteAddress),
    forwardedFor: request.headers["x-forwarded-for"],
    trustedProxies: settings.trustedProxies
  })

/**
 * Whether a request names exactly one host. With none or several, a proxy before the service may have read another one
 * (RFC 9112 section 3.2). HTTP/1.0 requests need no host.
 */
export const namesOneHost = ({ source }: HttpServerRequest.HttpServerRequest): boolean => {
  if (!(source instanceof IncomingMessage)) return true
  const { length } = (source.headersDistinct["host"] ?? []).filter((host) => host !== "")
  return length === 1 || (length === 0 && source.httpVersion === "1.0")
}

/** Whether a request names a loopback host. A browser that is attacked by DNS rebinding names another host. */
export const namesLoopback = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  isLoopbackHost((headers["host"] ?? "").replace(/:\d*$/, ""))

const forwardingHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]

/** Whether a request was sent to a loopback host, without a proxy in between. */
export const isDirectLocal = (request: HttpServerRequest.HttpServerRequest): boolean =>
  namesLoopback(request) && forwardingHeaders.every((name) => request.headers[name] === undefined)
