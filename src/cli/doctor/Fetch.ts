import { Data, Effect } from "effect"

/** An address gave no answer; the message says why in the system's words. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string }> {}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

const rootCause = (error: unknown): string => {
  const { cause, code, message } = error as { cause?: unknown; code?: string; message?: string }
  if (cause !== undefined) return rootCause(cause)
  return typeof code === "string" ? code : (message ?? "no reason was given")
}

/** One request without following redirects; an answer that takes longer than ten seconds is none. */
export const get = (url: string, init: RequestInit = {}): Effect.Effect<Answer, NoAnswer> =>
  Effect.tryPromise({
    try: async (signal) => {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(10_000)])
      const response = await fetch(url, { redirect: "manual", ...init, signal: limited })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    catch: (error) => new NoAnswer({ message: rootCause(error) })
  })

/** A JSON object, or none. */
export const objectOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
