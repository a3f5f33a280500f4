import type { AgentMemoryError } from "./AgentMemoryError.ts"

const firstWait = 250
const longestWait = 8_000

/** The longest `Retry-After`, in seconds, that is waited for; a longer one is the caller's to decide about. */
const longestRetryAfter = 60

/**
 * The seconds of a `Retry-After` header, which may also hold a date (RFC 9110 section 10.2.3). `now` is in milliseconds
 * since 1970.
 */
export const retryAfterOf = (text: string | null | undefined, now: number): number | undefined => {
  if (text === null || text === undefined) return undefined
  const seconds = /^\d+$/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, Math.ceil(seconds))
}

/** What became of a request that failed: it was not carried out, nobody knows, or a repeat would fail alike. */
export type Outcome = "refused" | "unknown" | "final"

// The run times' names for a connection that never came about, so that nothing was sent.
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

export const outcomeOf = (error: AgentMemoryError): Outcome => {
  switch (error.code) {
    case "timeout":
      return "unknown"
    case "network_error":
      return outcomeOfCause(error.cause)
    default:
      return outcomeOfStatus(error.status)
  }
}

/** What the failure of a connection says of the request. */
export const outcomeOfCause = (cause: unknown): Outcome =>
  codesOf(cause).some((code) => neverConnected.has(code as string)) ? "refused" : "unknown"

/** What a status says of the request. */
export const outcomeOfStatus = (status: number | undefined): Outcome => {
  switch (status) {
    case 429:
      return "refused"
    // The request did not arrive whole in time, or the service or a gateway before it lost track of it.
    case 408:
    case 502:
    case 503:
    case 504:
      return "unknown"
    default:
      return "final"
  }
}

/**
 * How long to wait before another try, in milliseconds: any time up to a bound that doubles with each try (full jitter),
 * after the time that the service asked for. Undefined when it asked for more than is waited. `random` is from 0 to 1.
 */
export const waitBefore = (retry: number, retryAfter: number | undefined, random: number): number | undefined => {
  if (retryAfter !== undefined && retryAfter > longestRetryAfter) return undefined
  const jitter = random * Math.min(longestWait, firstWait * 2 ** retry)
  return (retryAfter ?? 0) * 1000 + jitter
}
