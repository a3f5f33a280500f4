import { Effect } from "effect"
import { createServer, type Socket } from "node:net"
import { connectTo, endTogether, listenInPlaceOf } from "./Loopback.ts"
import { Messages } from "./PgMessages.ts"

/** The message that begins a session, without these of its parameters. */
const withoutParameters = (message: Buffer, ignored: ReadonlyArray<string>): Buffer => {
  const texts = message.toString("utf8", 8).split("\0")
  const kept = texts.flatMap((name, index) =>
    index % 2 === 0 && name !== "" && !ignored.includes(name.toLowerCase()) ? [`${name}\0${texts[index + 1]}\0`] : []
  )
  const bytes = Buffer.concat([message.subarray(0, 8), Buffer.from(`${kept.join("")}\0`)])
  bytes.writeInt32BE(bytes.length)
  return bytes
}

/**
 * Puts a pooler in front of a database, until the scope closes: it passes over these of the parameters that sessions begin
 * with, as PgBouncer does with its `ignore_startup_parameters`. Gives the database's address through it.
 */
export const makePooler = Effect.fnUntraced(function* (databaseUrl: string, ignored: ReadonlyArray<string>) {
  const sockets = new Set<Socket>()
  const server = createServer({ noDelay: true }, (client) => {
    const upstream = connectTo(databaseUrl)
    endTogether(client, upstream, sockets)
    const messages = new Messages(false)
    client.on("data", (chunk: Buffer) => {
      for (const { bytes, type } of messages.take(chunk)) {
        upstream.write(type === "" ? withoutParameters(bytes, ignored) : bytes)
      }
    })
    upstream.on("data", (chunk: Buffer) => client.write(chunk))
  })
  return yield* listenInPlaceOf(databaseUrl, server, sockets)
})
