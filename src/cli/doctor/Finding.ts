import { Data, Effect } from "effect"
import { visible } from "../Formats.ts"

/** The result of a check. `fix` says what to do if it is not `ok`. A check is `skipped` if another one has to pass first. */
export interface Finding {
  readonly check: string
  readonly status: "ok" | "warning" | "failed" | "skipped"
  readonly detail: string
  readonly fix?: string
}

/** The findings that a check can have, without control characters, because details quote other servers. */
export const findingsOf = (check: string) => {
  const finding = (status: Finding["status"], detail: string, fix?: string): Finding => ({
    check,
    status,
    detail: visible(detail),
    ...(fix !== undefined && { fix: visible(fix) })
  })
  return {
    ok: (detail: string) => finding("ok", detail),
    skipped: (detail: string) => finding("skipped", detail),
    warning: (detail: string, fix: string) => finding("warning", detail, fix),
    failed: (detail: string, fix: string) => finding("failed", detail, fix)
  }
}

/** A URL did not respond; the message is the system's reason. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string }> {}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** The code or message of an error's innermost cause. */
export const rootCause = (error: unknown): string => {
  const { cause, code, message } = error as { cause?: unknown; code?: string; message?: string }
  if (cause !== undefined) return rootCause(cause)
  return typeof code === "string" ? code : (message ?? "no reason was given")
}

/** Sends one request, without following redirects, with a timeout of ten seconds. */
export const get = (url: string, init: RequestInit = {}): Effect.Effect<Answer, NoAnswer> =>
  Effect.tryPromise({
    try: async (signal) => {
      const limited = AbortSignal.any([signal, AbortSignal.timeout(10_000)])
      const response = await fetch(url, { redirect: "manual", ...init, signal: limited })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    catch: (error) => new NoAnswer({ message: rootCause(error) })
  })

/** The JSON object in a text; empty if there is none. */
export const objectOf = (text: string): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}
