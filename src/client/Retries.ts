const firstWait = 250
const longestWait = 8_000

/** The longest `Retry-After`, in seconds, that is waited for; the caller decides about a longer one. */
const longestRetryAfter = 60

/** The seconds of a `Retry-After`, which may hold a date (RFC 9110, 10.2.3). `now` is in milliseconds since 1970. */
export const retryAfterOf = (text: string | null | undefined, now = Date.now()): number | undefined => {
  if (text === null || text === undefined) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds))
}

/** What is known of a request: it was not carried out, it may have been, or a repeat would give the same result. */
export type Outcome = "refused" | "unknown" | "final"

// The run times' names for a connection that was never made, so that nothing was sent.
const neverConnected = new Set([
  "ECONNREFUSED",
  "ConnectionRefused",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "UND_ERR_CONNECT_TIMEOUT"
])

const codesOf = (cause: unknown): ReadonlyArray<unknown> => {
  if (typeof cause !== "object" || cause === null) return []
  const { cause: inner, code, errors } = cause as { code?: unknown; cause?: unknown; errors?: unknown }
  return [code, ...codesOf(inner), ...(Array.isArray(errors) ? errors.flatMap(codesOf) : [])]
}

/** What a failed connection says of its request. */
export const outcomeOfCause = (cause: unknown): Outcome =>
  codesOf(cause).some((code) => neverConnected.has(code as string)) ? "refused" : "unknown"

/** What a status says of its request. */
export const outcomeOfStatus = (status: number | undefined): Outcome => {
  if (status === 429) return "refused"
  // The request did not arrive whole in time, or the service or a gateway before it lost track of it.
  return [408, 502, 503, 504].includes(status!) ? "unknown" : "final"
}

/**
 * How long to wait before another try, in milliseconds: a random time up to a bound that doubles with each try (full
 * jitter), after the time that the service asked for. Undefined when it asked for more than is waited. `random` is from 0
 * to 1.
 */
export const waitBefore = (retry: number, retryAfter: number | undefined, random: number): number | undefined => {
  if (retryAfter !== undefined && retryAfter > longestRetryAfter) return undefined
  const jitter = random * Math.min(longestWait, firstWait * 2 ** retry)
  return (retryAfter ?? 0) * 1000 + jitter
}

/**
 * Work in steps that both clients can run: each yielded value is a promise of the Promise client or an effect of the
 * Effect client, and what it resolves to is passed back.
 */
export type Steps<A> = Generator<unknown, A, unknown>

/** One step; `A` is what the promise or effect resolves to. */
export function* step<A>(work: unknown): Steps<A> {
  return (yield work) as A
}

/** What a failed try says: of the request, and for how many seconds the service asked to wait. */
export interface Verdict {
  readonly outcome: Outcome
  readonly retryAfter?: number | undefined
}

/** Repeats a request while that is safe and may help, at most `maxRetries` times. */
export function* retrying<A>(request: {
  readonly maxRetries: number
  /** Whether a second request does no harm where the first may have been carried out. */
  readonly isRepeatable: boolean
  /** The step of one try. */
  readonly tryOnce: () => unknown
  readonly judge: (failure: unknown) => Verdict
  /** The step that waits, in milliseconds. */
  readonly sleep: (milliseconds: number) => unknown
}): Steps<A> {
  for (let retry = 0; ; retry++) {
    try {
      return yield* step<A>(request.tryOnce())
    } catch (failure) {
      const { outcome, retryAfter } = request.judge(failure)
      const isFinal = outcome === "final" || (outcome === "unknown" && !request.isRepeatable)
      const wait = waitBefore(retry, retryAfter, Math.random())
      if (isFinal || retry >= request.maxRetries || wait === undefined) throw failure
      yield* step(request.sleep(wait))
    }
  }
}
