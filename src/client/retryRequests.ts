import { Duration, Effect } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, type HttpClientResponse } from "effect/http"
import { outcomeOfCause, outcomeOfStatus, retryAfterOf, retrying, type Steps, type Verdict } from "./Retries.ts"

/**
 * Runs steps that yield effects. What the steps throw on their own is a defect, unless `refusalOf` makes a failure of it.
 */
export const runEffects = <A, E = never>(
  steps: Steps<A>,
  refusalOf: (error: unknown) => E | undefined = () => undefined
): Effect.Effect<A, E> => {
  const proceed = (advance: () => IteratorResult<unknown, A>, failure?: E): Effect.Effect<A, E> => {
    try {
      const next = advance()
      if (next.done === true) return Effect.succeed(next.value)
      return Effect.matchEffect(next.value as Effect.Effect<unknown, E>, {
        onFailure: (error) => proceed(() => steps.throw(error), error),
        onSuccess: (value) => proceed(() => steps.next(value))
      })
    } catch (error) {
      if (failure !== undefined && error === failure) return Effect.fail(failure)
      const refusal = refusalOf(error)
      return refusal === undefined ? Effect.die(error) : Effect.fail(refusal)
    }
  }
  return proceed(() => steps.next())
}

/** Whether a request does no harm twice: it reads, or has an idempotency key. */
const isRepeatable = ({ headers, method }: HttpClientRequest.HttpClientRequest): boolean =>
  method === "GET" || method === "DELETE" || headers["idempotency-key"] !== undefined

type Failure = HttpClientError.HttpClientError | HttpClientResponse.HttpClientResponse

const isError = (failure: Failure): failure is HttpClientError.HttpClientError =>
  HttpClientError.isHttpClientError(failure)

const verdictOn = (failure: Failure): Verdict => {
  if (!isError(failure)) {
    return { outcome: outcomeOfStatus(failure.status), retryAfter: retryAfterOf(failure.headers["retry-after"]) }
  }
  const { reason } = failure
  return { outcome: reason._tag === "TransportError" ? outcomeOfCause(reason.cause) : "final" }
}

/** Sends requests again by the rules of the Promise client, and reads each response whole within its try. */
export const retryRequests = (options: { readonly timeout: Duration.Duration; readonly maxRetries: number }) =>
  HttpClient.transform<HttpClientError.HttpClientError, never, HttpClientError.HttpClientError, never>(
    (response, request) => {
      const { maxRetries, timeout } = options
      const tryOnce = response.pipe(
        // The body is kept, so that reading it later cannot fail any more.
        Effect.tap((response) => response.arrayBuffer),
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => {
            const description = `No answer within ${Duration.format(timeout)}`
            const reason = new HttpClientError.TransportError({ request, description })
            return Effect.fail(new HttpClientError.HttpClientError({ reason }))
          }
        }),
        Effect.filterOrFail(
          ({ status }) => outcomeOfStatus(status) === "final",
          (response): Failure => response
        )
      )
      const tries = retrying<HttpClientResponse.HttpClientResponse>({
        maxRetries,
        isRepeatable: isRepeatable(request),
        tryOnce: () => tryOnce,
        judge: (failure) => verdictOn(failure as Failure),
        sleep: (milliseconds) => Effect.sleep(milliseconds)
      })
      return Effect.catch(runEffects<HttpClientResponse.HttpClientResponse, Failure>(tries), (failure) =>
        isError(failure) ? Effect.fail(failure) : Effect.succeed(failure)
      )
    }
  )
