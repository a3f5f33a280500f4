import { Schema } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import { HeadersTooLarge, InvalidRequest, RequestTimeout } from "../../domain/Problem.ts"

const headersTooLarge = (request_id: string) =>
  Schema.encodeSync(HeadersTooLarge)(
    new HeadersTooLarge({ request_id, detail: "The head of the request may have 32 KB." })
  )

const tooLate = (request_id: string) =>
  Schema.encodeSync(RequestTimeout)(new RequestTimeout({ request_id, detail: "The request did not arrive in time." }))

const notHttp = (request_id: string) =>
  Schema.encodeSync(InvalidRequest)(new InvalidRequest({ request_id, detail: "The request is not valid HTTP/1.1." }))

/** Answers what Node refuses before it is a request, with a problem body like every other failure. */
export const answerFramingFault = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const id = uuidV7Unsafe()
  const problem =
    error.code === "HPE_HEADER_OVERFLOW"
      ? headersTooLarge(id)
      : error.code === "ERR_HTTP_REQUEST_TIMEOUT"
        ? tooLate(id)
        : notHttp(id)
  const status = problem.status ?? 400
  const body = JSON.stringify(problem)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n` +
      `Cache-Control: no-store\r\nX-Request-Id: ${id}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}
