import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import { promisify } from "node:util"
import { gzip } from "node:zlib"
import { type IncomingMessage, type Server, type ServerResponse, createServer, STATUS_CODES } from "node:http"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { Unavailable, HeadersTooLarge, InvalidRequest, RequestTimeout } from "../../domain/Problem.ts"
import { print } from "../../domain/json/JsonText.ts"
import type { Problem } from "./RenderProblem.ts"
import { isWithin, type Network } from "../config/ClientIp.ts"
import type { Duplex } from "node:stream"
import type { Socket } from "node:net"

/** Whether an `Accept-Encoding` header takes a content coding (RFC 9110 section 12.5.3). */
export const accepts = (header: string | undefined, coding: string): boolean =>
  (header ?? "").split(",").some((part) => {
    const [name, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    return name === coding && !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter))
  })

/** In bytes: shorter bodies gain nothing, since a packet carries them anyway. */
const leastBytes = 1024

/** JSON gets almost as small as with the usual level, in a third of the time. */
const fastest = 1

const compress = promisify(gzip)

/**
 * The response in gzip, if the request's `Accept-Encoding` takes it and the body is complete and at least 1 KB long. It is
 * compressed outside the event loop.
 */
export const compressed = (
  response: HttpServerResponse.HttpServerResponse,
  accepted: string | undefined
): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const { body } = response
  const isLong = body._tag === "Uint8Array" && body.body.length >= leastBytes
  if (!isLong || !accepts(accepted, "gzip")) return Effect.succeed(response)
  return Effect.map(
    Effect.promise(() => compress(body.body, { level: fastest })),
    (zipped) =>
      HttpServerResponse.uint8Array(zipped, {
        status: response.status,
        contentType: body.contentType,
        headers: { ...response.headers, "content-encoding": "gzip" }
      })
  )
}

/** In milliseconds: how long requests that were on their way when the last one ended are still answered. */
const lull = 50

const detail = "The service is stopping. Another one is usually there in a few seconds."

const printed = (problem: Problem): string => print({ ...problem })

/** Refuses a request once it has arrived: a connection that ends before that is reset, and its client learns nothing. */
const refuse = ({ url = "" }: IncomingMessage, response: ServerResponse): void => {
  const id = uuidV7Unsafe()
  const isMcp = url.startsWith("/mcp")
  response.writeHead(503, {
    connection: "close",
    "content-type": isMcp ? "application/json" : "application/problem+json",
    "cache-control": "no-store",
    "retry-after": "2",
    "x-request-id": id
  })
  response.end(
    isMcp
      ? JSON.stringify({ jsonrpc: "2.0", error: { code: -32_603, message: detail } })
      : printed(new Unavailable({ request_id: id, detail }))
  )
}

/** Lets `handle` decide about the requests that a server emits. `emit` passes one on. */
const interceptRequests = (
  server: Server,
  handle: (request: IncomingMessage, response: ServerResponse, emit: () => boolean) => boolean
): void => {
  const emit = server.emit.bind(server)
  server.emit = (event: string, ...values: Array<unknown>): boolean => {
    if (event !== "request") return emit(event, ...values)
    const [request, response] = values as [IncomingMessage, ServerResponse]
    return handle(request, response, () => emit(event, request, response))
  }
}

/**
 * Lets a server that is closed finish the requests that it finds in progress before it listens no more. Whoever comes
 * meanwhile is told to come again. Node's own close() refuses and resets them, and waits for idle clients.
 */
export const drainBeforeClose = (server: Server, begun: ReadonlySet<ServerResponse>): void => {
  let isDraining = false
  interceptRequests(server, (request, response, emit) => {
    if (!isDraining || begun.has(response)) return emit()
    if (request.complete) refuse(request, response)
    else request.resume().once("end", () => refuse(request, response))
    return true
  })
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

// The senders of these requests are not yet known, so a connection that pipelines more of them is closed.
const maxWaiting = 100

interface Line {
  latest: ServerResponse
  waiting: number
}

/**
 * Handles the requests of a connection one after another (RFC 9112 section 9.3.2). Node emits pipelined requests at once, so
 * that a read could overtake the write before it. A request whose connection has ended before its turn is dropped.
 */
const handleInOrder = (server: Server): void => {
  const lines = new WeakMap<Socket, Line>()
  const known = new WeakSet<ServerResponse>()
  interceptRequests(server, (request, response, emit) => {
    // Requests that were held until the framework listened are emitted a second time.
    if (known.has(response)) return emit()
    known.add(response)
    const { socket } = request
    const line = lines.get(socket) ?? { latest: response, waiting: 0 }
    lines.set(socket, line)
    const previous = line.latest
    line.latest = response
    // An idle connection keeps nothing of its last request in memory.
    response.once("close", () => {
      if (line.latest === response) lines.delete(socket)
    })
    if (previous === response || previous.closed) return emit()
    if (line.waiting === maxWaiting) {
      socket.destroy()
      return true
    }
    line.waiting++
    previous.once("close", () => {
      line.waiting--
      if (socket.writable) emit()
    })
    return true
  })
}

const framingProblem = (code: string | undefined, request_id: string): Problem => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new HeadersTooLarge({ request_id, detail: "The request's headers may have at most 32 KB." })
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new RequestTimeout({ request_id, detail: "The request did not arrive in time." })
    default:
      return new InvalidRequest({ request_id, detail: "The request is not valid HTTP/1.1." })
  }
}

/** Responds to what Node refuses before it is a request, with a problem body like every other failure. */
const refuseFraming = (error: NodeJS.ErrnoException, socket: Duplex): void => {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy()
    return
  }
  const id = uuidV7Unsafe()
  const problem = framingProblem(error.code, id)
  const { status } = problem
  const body = printed(problem)
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\nContent-Type: application/problem+json\r\n` +
      `Cache-Control: no-store\r\nX-Request-Id: ${id}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  )
}

const maxHeaderBytes = 32_768
const maxConnections = 10_000

const responsesOf = (server: Server): ReadonlySet<ServerResponse> => {
  const begun = new Set<ServerResponse>()
  server.on("request", (_, response) => {
    begun.add(response)
    response.once("close", () => {
      begun.delete(response)
      if (!server.listening) server.closeIdleConnections()
    })
  })
  return begun
}

/**
 * Closes connections that are idle for too long, such as those of clients that stop in the middle of a response and so hold
 * its memory and its database connection. A client that has sent a whole request and waits for the response is not idle,
 * because the request may be queued.
 */
const endSilent = (server: Server, milliseconds: number, begun: ReadonlySet<ServerResponse>): void => {
  server.setTimeout(milliseconds, (socket) => {
    const isQueued = begun
      .values()
      .some(({ headersSent, req }) => req.socket === socket && req.complete && !headersSent)
    if (!isQueued) socket.destroy()
  })
}

// The sender of these headers decides which traces are recorded.
const traceHeaders = [
  "traceparent",
  "tracestate",
  "b3",
  "x-b3-traceid",
  "x-b3-spanid",
  "x-b3-parentspanid",
  "x-b3-sampled",
  "x-b3-flags"
]

/**
 * The HTTP server under the framework. Requests that arrive before the framework listens are held until it does, and anything
 * that is not HTTP gets a problem body. Only trusted proxies can set a request's trace. Times are in milliseconds.
 */
export const makeNodeServer = (trustedProxies: ReadonlyArray<Network>, silence = 30_000): Server => {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    connectionsCheckingInterval: 5_000,
    // Node would refuse a request without a host with an empty body; the service sends a problem.
    requireHostHeader: false
  })
  const begun = responsesOf(server)
  endSilent(server, silence, begun)
  server.maxConnections = maxConnections
  drainBeforeClose(server, begun)
  server.on("request", ({ headers, socket }) => {
    if (!isWithin(trustedProxies, socket.remoteAddress)) for (const name of traceHeaders) delete headers[name]
  })
  handleInOrder(server)
  const early: Array<[IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse) => void early.push([request, response])
  server.on("request", hold)
  server.on("newListener", function handOver(event, listener) {
    if (event !== "request" || listener === hold) return
    server.off("newListener", handOver)
    server.off("request", hold)
    queueMicrotask(() => {
      for (const [request, response] of early.splice(0)) server.emit("request", request, response)
    })
  })
  // An unknown expectation may be ignored (RFC 9110 section 10.1.1). Node would respond 417 with an empty body.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  server.on("clientError", refuseFraming)
  return server
}
