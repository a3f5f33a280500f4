import { Clock, Duration, Effect, Random } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, type HttpClientResponse } from "effect/http"
import { outcomeOfCause, outcomeOfStatus, retryAfterOf, waitBefore, type Outcome } from "../Retries.ts"

export interface RetryOptions {
  /** How long one try may take. */
  readonly timeout: Duration.Duration
  readonly maxRetries: number
}

/** What is known of a try: its answer or its failure, and how long the service asked to wait. */
interface Tried {
  readonly result: Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError>
  readonly outcome: Outcome
  readonly retryAfter: number | undefined
}

/** Whether a request may be sent again when nobody knows what became of it: it reads, or has an idempotency key. */
const isRepeatable = ({ headers, method }: HttpClientRequest.HttpClientRequest): boolean =>
  method === "GET" || method === "DELETE" || headers["idempotency-key"] !== undefined

/** Sends requests again by the rules of the Promise client, and reads each answer whole within its try. */
export const retryRequests = ({ maxRetries, timeout }: RetryOptions) =>
  HttpClient.transform<HttpClientError.HttpClientError, never, HttpClientError.HttpClientError, never>(
    (response, request) => {
      const tryOnce = response.pipe(
        // The body is kept, so that reading it later cannot fail any more.
        Effect.tap((answer) => answer.arrayBuffer),
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => {
            const description = `No answer within ${Duration.format(timeout)}`
            return Effect.fail(
              new HttpClientError.HttpClientError({
                reason: new HttpClientError.TransportError({ request, description })
              })
            )
          }
        }),
        Effect.matchEffect({
          onFailure: (error) =>
            Effect.succeed<Tried>({
              result: Effect.fail(error),
              outcome: error.reason._tag === "TransportError" ? outcomeOfCause(error.reason.cause) : "final",
              retryAfter: undefined
            }),
          onSuccess: (answer) =>
            Effect.map(Clock.currentTimeMillis, (now): Tried => ({
              result: Effect.succeed(answer),
              outcome: outcomeOfStatus(answer.status),
              retryAfter: retryAfterOf(answer.headers["retry-after"], now)
            }))
        })
      )
      const attempt = (
        retry: number
      ): Effect.Effect<HttpClientResponse.HttpClientResponse, HttpClientError.HttpClientError> =>
        Effect.gen(function* () {
          const { outcome, result, retryAfter } = yield* tryOnce
          const isFinal = outcome === "final" || (outcome === "unknown" && !isRepeatable(request))
          const wait = waitBefore(retry, retryAfter, yield* Random.next)
          if (isFinal || retry >= maxRetries || wait === undefined) return yield* result
          yield* Effect.sleep(wait)
          return yield* attempt(retry + 1)
        })
      return attempt(0)
    }
  )
