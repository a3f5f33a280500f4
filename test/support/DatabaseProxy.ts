import { Effect } from "effect"
import { createServer, type Socket } from "node:net"
import { connectTo, listenInPlaceOf } from "./Loopback.ts"

/** A network between the service and PostgreSQL that can fail. */
export interface DatabaseProxy {
  /** The database's address through this network. */
  readonly url: string
  /** Swallows what either side sends, as a network does whose packets get lost; connections stay open. */
  readonly stall: Effect.Effect<void>
  /** Delivers again, what was swallowed first. */
  readonly resume: Effect.Effect<void>
  /** Ends every connection, and refuses new ones until `resume`. */
  readonly cut: Effect.Effect<void>
}

/** Puts a network that can fail in front of a database, until the scope closes. */
export const makeProxy = Effect.fnUntraced(function* (databaseUrl: string) {
  const sockets = new Set<Socket>()
  let mode: "pass" | "stall" | "cut" = "pass"

  // Statements are small and wait for their answers: held back to be sent together, each would take 40 ms.
  const server = createServer({ noDelay: true }, (client) => {
    if (mode === "cut") return void client.destroy()
    const upstream = connectTo(databaseUrl)
    for (const [from, into] of [
      [client, upstream],
      [upstream, client]
    ] as const) {
      sockets.add(from)
      from.on("data", (chunk) => into.write(chunk))
      from.on("close", () => {
        sockets.delete(from)
        into.destroy()
      })
      from.on("error", () => from.destroy())
      if (mode === "stall") from.pause()
    }
  })
  const through = yield* listenInPlaceOf(databaseUrl, server, sockets)

  const proxy: DatabaseProxy = {
    url: through,
    stall: Effect.sync(() => {
      mode = "stall"
      for (const socket of sockets) socket.pause()
    }),
    resume: Effect.sync(() => {
      mode = "pass"
      for (const socket of sockets) socket.resume()
    }),
    cut: Effect.sync(() => {
      mode = "cut"
      for (const socket of sockets) socket.destroy()
    })
  }
  return proxy
})
