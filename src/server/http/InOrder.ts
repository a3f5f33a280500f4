import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Socket } from "node:net"

// Nobody knows yet whose requests these are, so that a connection that sends more of them without waiting is ended.
const maxWaiting = 100

interface Line {
  latest: ServerResponse
  waiting: number
}

/**
 * Hands over the requests of one connection one after another (RFC 9112 9.3.2): Node hands over those that a client sends
 * without waiting for answers at once, so that a read could overtake the write before it. A request whose connection ended
 * before its turn is dropped.
 */
export const carryOutInOrder = (server: Server): void => {
  const lines = new WeakMap<Socket, Line>()
  const known = new WeakSet<ServerResponse>()
  const emit = server.emit.bind(server)
  server.emit = (event: string, ...values: Array<unknown>): boolean => {
    if (event !== "request") return emit(event, ...values)
    const [request, response] = values as [IncomingMessage, ServerResponse]
    // Those that were held until somebody listened are handed over a second time.
    if (known.has(response)) return emit(event, request, response)
    known.add(response)
    const { socket } = request
    const line = lines.get(socket) ?? { latest: response, waiting: 0 }
    lines.set(socket, line)
    const previous = line.latest
    line.latest = response
    // A connection that idles for long keeps nothing of its last request.
    response.once("close", () => {
      if (line.latest === response) lines.delete(socket)
    })
    if (previous === response || previous.closed) return emit(event, request, response)
    if (line.waiting === maxWaiting) {
      socket.destroy()
      return true
    }
    line.waiting++
    previous.once("close", () => {
      line.waiting--
      if (socket.writable) emit(event, request, response)
    })
    return true
  }
}
