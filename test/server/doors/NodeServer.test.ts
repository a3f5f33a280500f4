import { assert, describe, it } from "@effect/vitest"
import { once } from "node:events"
import { connect, type AddressInfo } from "node:net"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { makeNodeServer } from "../../../src/server/doors/NodeServer.ts"

const large = Buffer.alloc(64 * 1_048_576)

type Handle = (request: IncomingMessage, response: ServerResponse, server: Server) => void

/** A connection to a server that ends silent ones after 100 ms, once it has sent this. */
const sentTo = async (handle: Handle, text: string) => {
  const server = makeNodeServer([], 100)
  server.on("request", (request, response) => handle(request, response, server))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
  await once(socket, "connect")
  socket.write(text)
  const end = () => {
    socket.destroy()
    server.closeAllConnections()
    server.close()
  }
  return { socket, server, end }
}

const head = "GET / HTTP/1.1\r\nHost: localhost\r\n"

describe("A connection that is silent for long", () => {
  it("goes on where it waits for the beginning of an answer", async () => {
    const { end, socket } = await sentTo(
      (_, response, server) => server.once("timeout", () => setImmediate(() => response.end("late"))),
      `${head}\r\n`
    )
    const [received] = (await once(socket, "data")) as [Buffer]
    assert.match(received.toString(), /^HTTP\/1\.1 200 [\s\S]*late$/)
    end()
  })

  it("ends in the middle of an answer that is not read, of a request, and between requests", async () => {
    const handlers: ReadonlyArray<readonly [Handle, string]> = [
      [(_, response) => response.end(large), `${head}\r\n`],
      [() => undefined, `${head}Content-Length: 10\r\n\r\n1`],
      [() => undefined, ""]
    ]
    for (const [handle, text] of handlers) {
      const { end, server, socket } = await sentTo(handle, text)
      socket.pause()
      const [accepted] = (await once(server, "timeout")) as [typeof socket]
      if (!accepted.destroyed) await once(accepted, "close")
      end()
    }
  })
})
