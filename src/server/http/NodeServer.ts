import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import { isWithin, type Network } from "./ClientIp.ts"
import { answerFramingFault } from "./FramingFault.ts"
import { carryOutInOrder } from "./InOrder.ts"

const maxHeaderBytes = 32_768
const maxConnections = 10_000

// Node's own close() waits until the clients of requests begun give their connections up, which takes them seconds.
const closeWithoutWaiting = (server: Server): void => {
  const begun = new Set<ServerResponse>()
  const endConnection = (response: ServerResponse) => {
    if (!response.headersSent) response.setHeader("connection", "close")
  }
  server.on("request", (_, response) => {
    if (!server.listening) endConnection(response)
    begun.add(response)
    response.once("close", () => {
      begun.delete(response)
      if (!server.listening) server.closeIdleConnections()
    })
  })
  const close = server.close.bind(server)
  server.close = (done) => {
    begun.forEach(endConnection)
    return close(done)
  }
}

// Whoever names a trace and says whether it is kept decides what the operator sees.
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
 * The HTTP server under the framework. Requests that arrive before the framework listens to them are held and handed
 * over, and what is not HTTP gets a problem body. Only trusted proxies may say which trace a request belongs to. Times are
 * in milliseconds.
 */
export const makeNodeServer = (trustedProxies: ReadonlyArray<Network>): Server => {
  const server = createServer({
    maxHeaderSize: maxHeaderBytes,
    requestTimeout: 60_000,
    headersTimeout: 20_000,
    connectionsCheckingInterval: 5_000,
    // Node would refuse with an empty body; who must name a host is told so with a problem.
    requireHostHeader: false
  })
  // Whoever stops reading an answer in the middle holds its memory and its database connection.
  server.setTimeout(30_000)
  server.maxConnections = maxConnections
  closeWithoutWaiting(server)
  server.on("request", ({ headers, socket }) => {
    if (!isWithin(trustedProxies, socket.remoteAddress)) for (const name of traceHeaders) delete headers[name]
  })
  carryOutInOrder(server)
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
  // RFC 9110 10.1.1: an expectation that is not known may be passed over. Node would answer 417 with an empty body.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  server.on("clientError", answerFramingFault)
  return server
}
