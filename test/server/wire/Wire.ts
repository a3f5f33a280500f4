import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { request as httpRequest, type IncomingHttpHeaders } from "node:http"
import { connect } from "node:net"
import { BaseUrl } from "../../support/TestService.ts"

/** An answer exactly as it came: header names in lower case, the body's bytes, and their text. */
export interface WireAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  readonly text: string
}

export interface WireRequest {
  readonly key?: string | undefined
  readonly body?: string | Uint8Array | undefined
  readonly headers?: Record<string, string>
}

/** One request whose path goes out as it is spelled, unlike with `fetch`, which resolves and escapes it. */
export const wire = Effect.fnUntraced(function* (
  method: string,
  path: string,
  { body, headers = {}, key }: WireRequest = {}
) {
  const { port } = new URL((yield* BaseUrl).url)
  return yield* Effect.callback<WireAnswer>((resume) => {
    const request = httpRequest(
      {
        host: "127.0.0.1",
        port,
        method,
        path,
        headers: {
          ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          ...(body === undefined
            ? {}
            : { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) }),
          ...headers
        }
      },
      (response) => {
        const chunks: Array<Buffer> = []
        response.on("data", (chunk: Buffer) => chunks.push(chunk))
        response.on("error", (error) => resume(Effect.die(error)))
        response.on("end", () => {
          const bytes = Buffer.concat(chunks)
          resume(
            Effect.succeed({ status: response.statusCode!, headers: response.headers, bytes, text: bytes.toString() })
          )
        })
      }
    )
    request.on("error", (error) => resume(Effect.die(error)))
    request.end(body)
    return Effect.sync(() => request.destroy())
  })
})

/** Sends bytes as they are and gives what came back until the server hung up. */
export const raw = Effect.fnUntraced(function* (bytes: string | Uint8Array) {
  const { port } = new URL((yield* BaseUrl).url)
  return yield* Effect.callback<string>((resume) => {
    const chunks: Array<Buffer> = []
    const socket = connect(Number(port), "127.0.0.1", () => socket.write(bytes))
    socket.on("data", (chunk: Buffer) => chunks.push(chunk))
    socket.on("close", () => resume(Effect.succeed(Buffer.concat(chunks).toString("latin1"))))
    socket.on("error", () => undefined)
    return Effect.sync(() => socket.destroy())
  })
})

/** The body as plain values, for tests that don't look at exactness. */
export const jsonOf = <A = Record<string, unknown>>(answer: { readonly text: string }): A =>
  JSON.parse(answer.text) as A

export interface ProblemBody {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly hint?: string
  readonly request_id: string
  readonly operation?: number
  readonly errors?: ReadonlyArray<{ readonly parameter?: string; readonly path?: string; readonly message: string }>
  readonly limit?: number
  readonly current?: number
}

/** Asserts what every failure's answer has, and gives its body. */
export const assertProblem = (answer: WireAnswer, status: number, code: string): ProblemBody => {
  assert.strictEqual(`${answer.status} ${answer.text}`.slice(0, 3), String(status), answer.text)
  assert.strictEqual(answer.headers["content-type"], "application/problem+json")
  const body = jsonOf<ProblemBody>(answer)
  assert.deepInclude(body, { type: `/docs/errors#${code}`, status, code }, answer.text)
  assert.strictEqual(body.request_id, answer.headers["x-request-id"])
  assert.match(body.request_id, /^[0-9a-f-]{36}$/)
  for (const text of [body.title, body.detail, body.hint ?? "a"]) assert.match(text, /\S/, answer.text)
  for (const { message, parameter, path } of body.errors ?? []) {
    if (parameter === undefined) assert.isString(path)
    // A JSON Pointer is empty, or begins with a slash.
    if (path !== undefined) assert.match(path, /^(\/|$)/)
    assert.match(message, /\S/)
  }
  return body
}

/** The places that a refusal names: pointers into the body, or parameters with a pointer into their value. */
export const pathsOf = (problem: ProblemBody): ReadonlyArray<string> =>
  (problem.errors ?? []).map(({ parameter = "", path = "" }) => parameter + path)

/** A query string of these parameters. */
export const search = (parameters: Record<string, string>): string => `?${new URLSearchParams(parameters).toString()}`
