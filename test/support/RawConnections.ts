import { Effect } from "effect"
import { connect, type Socket } from "node:net"
import { BaseUrl } from "./TestService.ts"

/** A connection to the service that has sent this text. */
export const opened = Effect.fnUntraced(function* (text: string) {
  const { hostname, port } = new URL((yield* BaseUrl).url)
  return yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect({ host: hostname, port: Number(port) }, () =>
        socket.write(text, () => resume(Effect.succeed(socket)))
      )
      socket.on("error", () => socket.destroy())
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
})

/** A request's head. */
export const head = (method: string, path: string, fields: Record<string, string | undefined> = {}): string => {
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]))
  return [`${method} ${path} HTTP/1.1`, "Host: localhost", ...lines, "", ""].join("\r\n")
}

/** A request of whoever has the key, whose answer nobody takes more of than what the system buffers. */
export const openUnread = Effect.fnUntraced(function* (path: string, key?: string) {
  const authorization = key === undefined ? undefined : `Bearer ${key}`
  const socket = yield* opened(head("GET", path, { Authorization: authorization }))
  socket.pause()
  return socket
})

/** All that comes on a connection until it ends. */
export const untilClosed = (socket: Socket): Effect.Effect<string> =>
  Effect.callback<string>((resume) => {
    let text = ""
    socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")))
    socket.resume()
    if (socket.closed) resume(Effect.succeed(text))
    else socket.once("close", () => resume(Effect.sync(() => text)))
  })
