import { Effect } from "effect"
import { createServer, type Socket } from "node:net"
import { TLSSocket } from "node:tls"
import type { Certificate } from "./Certificate.ts"
import { connectTo, endTogether, listenInPlaceOf } from "./Loopback.ts"

/** The second half of PostgreSQL's SSLRequest, which a client sends before its first message to ask for TLS. */
const sslRequestCode = 80_877_103

const asksForTls = (first: Buffer): boolean => first.length === 8 && first.readInt32BE(4) === sslRequestCode

/**
 * A PostgreSQL server as a client sees it that speaks TLS with this certificate, or without one refuses TLS, in front of a
 * database. `encrypted` counts the connections that were.
 */
export const makeTlsFront = Effect.fnUntraced(function* (databaseUrl: string, certificate?: Certificate) {
  const sockets = new Set<Socket>()
  const seen = { encrypted: 0, plain: 0 }

  const join = (client: Socket, first?: Buffer) => {
    const upstream = connectTo(databaseUrl)
    endTogether(client, upstream, sockets)
    if (first !== undefined) upstream.write(first)
    client.pipe(upstream).pipe(client)
  }

  const server = createServer((client) => {
    sockets.add(client)
    client.on("error", () => client.destroy())
    client.once("data", (first: Buffer) => {
      if (!asksForTls(first)) {
        seen.plain++
        return join(client, first)
      }
      if (certificate === undefined) {
        client.write("N")
        return client.once("data", (next: Buffer) => {
          seen.plain++
          join(client, next)
        })
      }
      client.write("S")
      const secure = new TLSSocket(client, { isServer: true, ...certificate })
      secure.on("error", () => client.destroy())
      secure.once("secure", () => {
        seen.encrypted++
        join(secure)
      })
    })
  })
  const url = yield* listenInPlaceOf(databaseUrl, server, sockets)
  return { url, seen }
})
