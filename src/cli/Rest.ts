import { Effect, Redacted, Schedule } from "effect"
import { request as httpRequest } from "node:http"
import { request as httpsRequest } from "node:https"
import { Stopped } from "./Stopped.ts"

/** A service and the account that a key opens there. */
export interface Target {
  readonly url: URL
  readonly key: Redacted.Redacted
}

/** One call of the REST interface; `onSent` and `onReceived` tell how many bytes of the bodies went by so far. */
export interface Call {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  readonly onSent?: (bytes: number) => void
  readonly onReceived?: (bytes: number) => void
}

export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string | ReadonlyArray<string> | undefined>>
  readonly body: Buffer
}

const pieceBytes = 65_536

const once = ({ key, url }: Target, { body, headers, method, onReceived, onSent, path }: Call) =>
  Effect.callback<Reply, Stopped>((resume) => {
    const broken = (error: NodeJS.ErrnoException) =>
      resume(
        Effect.fail(
          new Stopped({
            message: `The service at ${url.origin} cannot be reached: ${error.code ?? error.message}. Check --url, and that it runs.`
          })
        )
      )
    const make = url.protocol === "https:" ? httpsRequest : httpRequest
    const request = make(
      new URL(path, url),
      {
        method,
        headers: {
          authorization: `Bearer ${Redacted.value(key)}`,
          ...(body && { "content-type": "application/json", "content-length": body.length }),
          ...headers
        }
      },
      (response) => {
        const chunks: Array<Buffer> = []
        let bytes = 0
        response.on("data", (chunk: Buffer) => {
          chunks.push(chunk)
          bytes += chunk.length
          onReceived?.(bytes)
        })
        response.on("error", broken)
        response.on("end", () => {
          const { headers, statusCode = 0 } = response
          resume(Effect.succeed({ status: statusCode, headers, body: Buffer.concat(chunks) }))
        })
      }
    )
    request.on("error", broken)
    // Piece by piece, as the service takes them.
    const sendFrom = (at: number): void => {
      if (body === undefined || at >= body.length) return void request.end()
      const end = at + pieceBytes
      request.write(body.subarray(at, end), (error) => {
        if (error) return
        onSent?.(Math.min(end, body.length))
        sendFrom(end)
      })
    }
    sendFrom(0)
    return Effect.sync(() => request.destroy())
  })

const attempts = 5

const waitOf = ({ headers, status }: Reply): number | undefined =>
  status === 429 || status === 503 ? Math.min(Number(headers["retry-after"] ?? 1), 60) : undefined

/**
 * Sends a call, again where the connection broke or the service asked to wait: up to five times in all. A call that writes
 * needs an `Idempotency-Key`, as one that broke may have been carried out.
 */
export const send = Effect.fnUntraced(function* (target: Target, call: Call) {
  const patient = Effect.retry(once(target, call), { times: 2, schedule: Schedule.spaced("1 second") })
  let reply = yield* patient
  for (let left = attempts - 1; left > 0; left--) {
    const wait = waitOf(reply)
    if (wait === undefined) break
    yield* Effect.logInfo(`The service is busy (${reply.status}); trying again in ${wait} s.`)
    yield* Effect.sleep(wait * 1000)
    reply = yield* patient
  }
  return reply
})

interface Problem {
  readonly detail?: string
  readonly title?: string
  readonly hint?: string
  readonly code?: string
  readonly request_id?: string
  readonly errors?: ReadonlyArray<{ readonly parameter?: string; readonly path?: string; readonly message: string }>
}

/** A refusal in words: what, where in the request, what to do, and the request's id for the service's log. */
export const refusal = ({ body, status }: Reply): Stopped => {
  let problem: Problem = {}
  try {
    problem = JSON.parse(body.toString()) as Problem
  } catch {
    // Not the service's own answer, but one of something before it.
  }
  const { code, detail, errors = [], hint, request_id, title } = problem
  const lines = [
    `The service refused: ${detail ?? title ?? `HTTP ${status}`}${code === undefined ? "" : ` (${code})`}`,
    ...errors.map(({ message, parameter = "", path = "" }) => `  ${parameter}${path} ${message}`),
    ...(hint === undefined ? [] : [hint]),
    ...(request_id === undefined ? [] : [`Request ${request_id}`])
  ]
  return new Stopped({ message: lines.join("\n") })
}
