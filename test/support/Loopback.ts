import { Effect } from "effect"
import { connect, type AddressInfo, type Server, type Socket } from "node:net"
import { join } from "node:path"

/** A connection to a database, whose address may be a TCP port or a socket in a folder. */
export const connectTo = (databaseUrl: string): Socket => {
  const url = new URL(databaseUrl)
  const folder = url.searchParams.get("host")
  const port = Number(url.port === "" ? 5432 : url.port)
  const socket = folder === null ? connect(port, url.hostname) : connect(join(folder, `.s.PGSQL.${port}`))
  return socket.setNoDelay()
}

/** Lets either end of a connection through a network end the other, and gives what ends both. They are in `sockets` meanwhile. */
export const endTogether = (client: Socket, upstream: Socket, sockets: Set<Socket>): (() => void) => {
  const end = () => {
    client.destroy()
    upstream.destroy()
  }
  for (const socket of [client, upstream]) {
    sockets.add(socket)
    socket.on("error", end)
    socket.on("close", () => {
      sockets.delete(socket)
      end()
    })
  }
  return end
}

/**
 * Lets a network of the tests' own listen in the place of a database, until the scope closes: then the `sockets` that it
 * keeps are ended too. Gives the database's address through it.
 */
export const listenInPlaceOf = Effect.fnUntraced(function* (
  databaseUrl: string,
  server: Server,
  sockets: ReadonlySet<Socket>
) {
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () =>
      Effect.callback<void>((resume) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resume(Effect.void))
      })
  )
  const url = new URL(databaseUrl)
  url.hostname = "127.0.0.1"
  url.port = String((server.address() as AddressInfo).port)
  url.searchParams.delete("host")
  return url.href
})
