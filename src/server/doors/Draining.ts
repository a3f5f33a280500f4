import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Schema } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { Unavailable } from "../../domain/Problem.ts"

/** In milliseconds: how long requests that were on their way when the last one ended are still answered. */
const lull = 50

const detail = "The service is stopping. Another one is usually there in a few seconds."

const bodyOf = (url: string, request_id: string): object =>
  url.startsWith("/mcp")
    ? { jsonrpc: "2.0", error: { code: -32_603, message: detail } }
    : Schema.encodeSync(Unavailable)(new Unavailable({ request_id, detail }))

/** Refuses a request once it has arrived: a connection that ends before that is reset, and its client learns nothing. */
const refuse = ({ url = "" }: IncomingMessage, response: ServerResponse): void => {
  const id = uuidV7Unsafe()
  const contentType = url.startsWith("/mcp") ? "application/json" : "application/problem+json"
  response.writeHead(503, {
    connection: "close",
    "content-type": contentType,
    "cache-control": "no-store",
    "retry-after": "2",
    "x-request-id": id
  })
  response.end(JSON.stringify(bodyOf(url, id)))
}

/**
 * Lets a server that is closed finish the requests that it finds in progress before it listens no more. Whoever comes
 * meanwhile is told to come again. Node's own close() refuses and resets them, and waits for idle clients.
 */
export const drainBeforeClose = (server: Server, begun: ReadonlySet<ServerResponse>): void => {
  let isDraining = false
  const emit = server.emit.bind(server)
  server.emit = (event: string, ...values: Array<unknown>): boolean => {
    if (event !== "request" || !isDraining) return emit(event, ...values)
    const [request, response] = values as [IncomingMessage, ServerResponse]
    if (begun.has(response)) return emit(event, ...values)
    if (request.complete) refuse(request, response)
    else request.resume().once("end", () => refuse(request, response))
    return true
  }
  const close = server.close.bind(server)
  server.close = (done) => {
    isDraining = true
    const inProgress = new Set(begun)
    const end = () => void setTimeout(() => close(done), lull)
    for (const response of inProgress) {
      // The client does not send its next request on a connection that will be gone.
      if (!response.headersSent) response.setHeader("connection", "close")
      response.once("close", () => {
        inProgress.delete(response)
        if (inProgress.size === 0) end()
      })
    }
    if (inProgress.size === 0) end()
    return server
  }
}
