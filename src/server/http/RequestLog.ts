import { Cause, Effect, Exit, LogLevel, References } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import * as Metrics from "../telemetry/Metrics.ts"
import { CurrentRequest, type RequestRecord } from "./CurrentRequest.ts"

/** As nginx has it: nobody was there any more to be answered. */
const clientGone = 499

const isLogged = (minimum: LogLevel.LogLevel, level: LogLevel.LogLevel) => !LogLevel.isGreaterThan(minimum, level)

const fieldsOf = (record: RequestRecord, method: string, operation: string, status: number, duration: number) => ({
  request_id: record.id,
  method,
  operation,
  status,
  duration_ms: Math.round(duration * 100) / 100,
  ...(record.accountId === undefined ? {} : { account_id: record.accountId }),
  ...(record.keyId === undefined ? {} : { key_id: record.keyId }),
  ...(record.connectionId === undefined ? {} : { connection_id: record.connectionId }),
  ...(record.code === undefined ? {} : { code: record.code })
})

/**
 * Answers a request under its record, counts it and writes its one log line. The line has the operation and never the
 * address, which may hold a secret; whatever is logged on the way has the request's id.
 */
export const logged = <E, R>(
  record: RequestRecord,
  request: HttpServerRequest.HttpServerRequest,
  operationOf: (method: string, url: string) => string,
  answer: Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>
): Effect.Effect<HttpServerResponse.HttpServerResponse, E, R> =>
  Effect.suspend(() => {
    const start = performance.now()
    const { end } = Metrics.requestBegun()
    return answer.pipe(
      Effect.provideService(CurrentRequest, record),
      Effect.annotateLogs("request_id", record.id),
      Effect.onExit((exit) => {
        end()
        const duration = performance.now() - start
        const operation = record.operation ?? operationOf(request.method, request.url)
        const cause = Exit.isFailure(exit) ? exit.cause : record.cause
        const status = Exit.isSuccess(exit) ? exit.value.status : Cause.hasInterrupts(exit.cause) ? clientGone : 500
        return Effect.andThen(
          Metrics.requestAnswered(operation, status, duration),
          Effect.withFiber((fiber) => {
            // A tool that breaks is a result of its call, which is answered with 200.
            const level = status >= 500 || record.cause !== undefined ? "Error" : "Info"
            if (!isLogged(fiber.getRef(References.MinimumLogLevel), level)) return Exit.void
            const line = [
              `${operation} ${status}`,
              fieldsOf(record, request.method, operation, status, duration)
            ] as const
            if (level === "Info") return Effect.logInfo(...line)
            return cause === undefined ? Effect.logError(...line) : Effect.logError(...line, cause)
          })
        )
      })
    )
  })
