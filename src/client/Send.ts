import { abortable, pause } from "./Abortable.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import { failureOf } from "./Failures.ts"
import { jsonOf } from "./Json.ts"
import { operations, type OperationName } from "./Operations.ts"
import { triesOf, type Connection, type WriteOptions } from "./Options.ts"
import { outcomeOf, waitBefore } from "./Retries.ts"

/** What one call sends, beside the operation's method and path. */
interface Sent {
  /** Stand in the path. */
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string | undefined>>
  readonly headers?: Readonly<Record<string, string>>
  /** Becomes the body, printed exactly. */
  readonly body?: unknown
}

/** Sends a call, tries again as its operation allows, and reads the answer's body by `read` within a try's time. */
export type Send = <A>(
  operation: OperationName,
  sent: Sent,
  options: WriteOptions | undefined,
  read: (response: Response) => Promise<A>
) => Promise<A>

export const makeSend =
  (connection: Connection): Send =>
  async (operation, sent, options = {}, read) => {
    const { signal } = options
    const { method, repeat } = operations[operation]
    const url = connection.baseUrl + pathOf(operation, sent)
    const init = {
      method,
      headers: headersOf(connection, operation, sent, options),
      ...(sent.body === undefined ? {} : { body: jsonOf(sent.body) })
    }
    const { maxRetries, timeout: milliseconds } = triesOf(options, connection)
    const expired = () =>
      new AgentMemoryError({
        code: "timeout",
        detail: `${connection.baseUrl} did not answer ${method} ${pathOf(operation, sent)} within ${milliseconds} ms.`
      })
    for (let retry = 0; ; retry++) {
      try {
        return await abortable((signal) => once(connection, url, { ...init, signal }, read), {
          signal,
          milliseconds,
          expired
        })
      } catch (error) {
        if (!(error instanceof AgentMemoryError) || signal?.aborted === true || retry >= maxRetries) throw error
        const outcome = outcomeOf(error)
        if (outcome === "final" || (outcome === "unknown" && repeat === "unknown")) throw error
        const wait = waitBefore(retry, error.retryAfter, Math.random())
        if (wait === undefined) throw error
        await pause(wait, signal)
      }
    }
  }

const once = async <A>(
  { baseUrl, fetch }: Connection,
  url: string,
  init: RequestInit,
  read: (response: Response) => Promise<A>
): Promise<A> => {
  try {
    // A redirect would be followed with GET, or without the key.
    const response = await fetch(url, { ...init, redirect: "manual" })
    if (!response.ok) throw failureOf(response, await response.text(), baseUrl)
    return await read(response)
  } catch (error) {
    if (error instanceof AgentMemoryError) throw error
    throw new AgentMemoryError({
      code: "network_error",
      detail: `No answer came from ${baseUrl}: ${reasonOf(error)}.`,
      hint: "Check that Agent Memory runs there, or pass the address where it does as baseUrl.",
      cause: error
    })
  }
}

/** Run times say the reason in the cause, or in the cause's list. */
const reasonOf = (error: unknown): string => {
  const { cause, code, message } = error as { cause?: unknown; code?: string; message?: string }
  if (typeof cause === "object" && cause !== null) return reasonOf(cause)
  return (message === undefined || message === "" ? code : message) ?? String(error)
}

const pathOf = (operation: OperationName, { params = {}, query = {} }: Sent): string => {
  const path = operations[operation].path.replace(/:(\w+)/g, (_, name: string) => segmentOf(name, params[name]))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, value)
  return search.size === 0 ? path : `${path}?${search}`
}

const segmentOf = (name: string, value: string | undefined): string => {
  // An address would lose these, also when they are escaped, and lead to another operation.
  if (value === undefined || /^\.{0,2}$/.test(value)) {
    throw new AgentMemoryError({ code: "invalid_request", detail: `There is no ${name}: ${JSON.stringify(value)}.` })
  }
  return encodeURIComponent(value)
}

const headersOf = (
  { authorization }: Connection,
  operation: OperationName,
  { body, headers }: Sent,
  { idempotencyKey }: WriteOptions
): Record<string, string> => ({
  ...headers,
  accept: "application/json",
  ...(authorization === undefined ? {} : { authorization }),
  ...(body === undefined ? {} : { "content-type": "application/json" }),
  ...(operations[operation].repeat === "keyed" ? { "idempotency-key": checkedKey(idempotencyKey) } : {})
})

/** A key of a write's own. */
export const newIdempotencyKey = (): string => crypto.randomUUID()

const checkedKey = (key: string = newIdempotencyKey()): string => {
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key
  // A header cannot hold some of what is not allowed, which would look like a fault of the network.
  const message = "must be 1 to 255 printable ASCII characters"
  throw new AgentMemoryError({
    code: "invalid_request",
    detail: `idempotencyKey ${message}.`,
    errors: [{ parameter: "idempotency-key", message }]
  })
}
