import { parseEnvelope } from "../domain/json/ParseEnvelope.ts"
import { AgentMemoryError, type ErrorMembers } from "./AgentMemoryError.ts"
import { headersOf, operations, shapes, type OperationName, type Sent } from "./ContractOperations.ts"
import { jsonOf } from "./ExactRows.ts"
import { triesOf, type Connection, type WriteOptions } from "./Options.ts"
import { outcomeOfCause, outcomeOfStatus, retryAfterOf, retrying, type Steps, type Verdict } from "./Retries.ts"

/** Sends a call, tries again as its operation allows, and reads the response by `read` within the time of a try. */
export type Send = <A>(
  operation: OperationName,
  sent: Sent,
  options?: WriteOptions,
  read?: (response: Response) => Promise<A>
) => Promise<A>

/** Runs steps that yield promises. */
export const runSteps = async <A>(steps: Steps<A>): Promise<A> => {
  for (let next = steps.next(); ;) {
    if (next.done === true) return next.value
    let value: unknown
    try {
      value = await next.value
    } catch (error) {
      next = steps.throw(error)
      continue
    }
    next = steps.next(value)
  }
}

/** Sends over the connection's `fetch`. Calls reject with an `AgentMemoryError` or the reason of the caller's signal. */
export const makeSend =
  (connection: Connection): Send =>
  async <A>(
    operation: OperationName,
    sent: Sent,
    options: WriteOptions = {},
    read: (response: Response) => Promise<A> = (response) => readBody(operation, response)
  ) => {
    const { baseUrl, fetch } = connection
    const { signal } = options
    const { method, repeat } = operations[operation]
    const path = pathOf(operation, sent)
    const { maxRetries, timeout: milliseconds } = triesOf(options, connection)
    const init: RequestInit = {
      method,
      headers: {
        ...headersOf(operation, sent, options),
        accept: "application/json",
        ...(connection.authorization === undefined ? {} : { authorization: connection.authorization }),
        ...(sent.body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(sent.body === undefined ? {} : { body: jsonOf(sent.body).text }),
      // A redirect would be followed with GET, or without the key.
      redirect: "manual"
    }
    const once = async (signal: AbortSignal): Promise<A> => {
      try {
        const response = await fetch(baseUrl + path, { ...init, signal })
        if (!response.ok) throw failureOf(response, await response.text(), baseUrl)
        return await read(response)
      } catch (error) {
        if (error instanceof AgentMemoryError) throw error
        throw new AgentMemoryError({
          code: "network_error",
          detail: `No answer came from ${baseUrl}: ${reasonOf(error)}.`,
          hint: "Check that Agent Memory runs there, or correct baseUrl.",
          cause: error
        })
      }
    }
    const expired = () =>
      new AgentMemoryError({
        code: "timeout",
        detail: `${baseUrl} did not answer ${method} ${path} within ${milliseconds} ms.`
      })
    return runSteps(
      retrying<A>({
        maxRetries,
        isRepeatable: repeat !== "unknown",
        tryOnce: () => abortable(once, signal, milliseconds, expired),
        judge: (error) => (signal?.aborted === true ? { outcome: "final" } : verdictOn(error)),
        sleep: (milliseconds) => pause(milliseconds, signal)
      })
    )
  }

const verdictOn = (error: unknown): Verdict => {
  if (!(error instanceof AgentMemoryError)) return { outcome: "final" }
  const { cause, code, retryAfter, status } = error
  if (code === "timeout") return { outcome: "unknown" }
  return { outcome: code === "network_error" ? outcomeOfCause(cause) : outcomeOfStatus(status), retryAfter }
}

const pathOf = (operation: OperationName, { params = {}, query = {} }: Sent): string => {
  const path = operations[operation].path.replace(/:(\w+)/g, (_, name: string) => segmentOf(name, params[name]))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.append(name, String(value))
  return search.size === 0 ? path : `${path}?${search}`
}

const segmentOf = (name: string, value: string | undefined): string => {
  // An address would lose these, also when they are escaped, and lead to another operation.
  if (value === undefined || /^\.{0,2}$/.test(value)) {
    throw new AgentMemoryError({ code: "invalid_request", detail: `There is no ${name}: ${JSON.stringify(value)}.` })
  }
  return encodeURIComponent(value)
}

const readBody = async <A>(operation: OperationName, response: Response): Promise<A> => {
  const [shape, ...members] = operations[operation].response
  const { value } = parseEnvelope(await response.text(), shape)
  if (typeof value === "object" && value !== null && members.every((member) => Object.hasOwn(value, member))) {
    return value as A
  }
  throw new AgentMemoryError({
    code: "invalid_response",
    status: response.status,
    detail: "The response is not one of Agent Memory.",
    hint: "Check baseUrl, and any proxy before the service.",
    requestId: response.headers.get("x-request-id") ?? undefined
  })
}

const failureOf = (response: Response, body: string, baseUrl: string): AgentMemoryError => {
  const { headers, status } = response
  const retryAfter = retryAfterOf(headers.get("retry-after"))
  const isJson = /^application\/(?:problem\+)?json\b/i.test(headers.get("content-type") ?? "")
  const problem = isJson ? (parseEnvelope(body, shapes.plain).value as Partial<ErrorMembers> | undefined) : undefined
  if (typeof problem?.code === "string" && typeof problem.detail === "string") {
    const { code, detail, errors, hint, operation, request_id: requestId } = problem
    const { current, limit, matches, note, rows } = problem
    const general = { code, detail, hint, status, requestId, errors, operation, retryAfter }
    return new AgentMemoryError({ ...general, limit, current, matches, note, rows })
  }
  const location = headers.get("location")
  return new AgentMemoryError({
    code: "invalid_response",
    detail: `${baseUrl} answered with status ${status}, but not as Agent Memory does.`,
    hint:
      location === null
        ? "Check baseUrl, and any proxy before the service."
        : `It redirects to ${location}: pass the address behind it as baseUrl.`,
    status,
    requestId: headers.get("x-request-id") ?? undefined,
    retryAfter
  })
}

/** Run times give the reason in the cause, or in the cause's list. */
const reasonOf = (error: unknown): string => {
  const { cause, code, message } = error as { cause?: unknown; code?: string; message?: string }
  if (typeof cause === "object" && cause !== null) return reasonOf(cause)
  return (message === undefined || message === "" ? code : message) ?? String(error)
}

/** The longest time that a timer can be set to. */
const longestTimer = 2 ** 31 - 1

/**
 * Runs one try with a signal that ends it. Rejects at once with the caller's reason when the caller's signal fires, and
 * with what `expired` makes when the time has passed, whether or not the work obeys its own signal.
 */
const abortable = <A>(
  work: (signal: AbortSignal) => Promise<A>,
  signal: AbortSignal | undefined,
  milliseconds: number,
  expired: () => Error
): Promise<A> =>
  new Promise<A>((resolve, reject) => {
    const controller = new AbortController()
    if (signal?.aborted === true) return reject(signal.reason)
    // A timer that is left would keep a finished program running.
    const forget = () => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", onAbort)
    }
    const end = (reason: unknown) => {
      forget()
      controller.abort(reason)
      reject(reason)
    }
    const onAbort = () => end(signal?.reason)
    const timer = milliseconds > longestTimer ? undefined : setTimeout(() => end(expired()), milliseconds)
    signal?.addEventListener("abort", onAbort, { once: true })
    work(controller.signal).then(resolve, reject).finally(forget)
  })

/** Waits; rejects at once with the signal's reason when it fires. */
const pause = (milliseconds: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort)
      resolve()
    }, milliseconds)
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener("abort", onAbort, { once: true })
  })
