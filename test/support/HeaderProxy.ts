import { Effect } from "effect"
import { createServer, request } from "node:http"
import type { AddressInfo } from "node:net"

/**
 * An address that passes everything on to another one and adds headers, for clients that can't be told to send them. Host
 * and Origin go through as they came, unlike with most proxies: the service judges them. It closes at the end.
 */
export const headerProxy = Effect.fnUntraced(function* (target: string, added: Readonly<Record<string, string>>) {
  const { hostname, port } = new URL(target)
  const server = createServer((incoming, outgoing) => {
    const { method, url } = incoming
    const onward = request(
      { hostname, port, method, path: url, headers: { ...incoming.headers, ...added } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(outgoing)
      }
    )
    onward.on("error", () => outgoing.destroy())
    outgoing.on("close", () => onward.destroy())
    incoming.pipe(onward)
  })
  return yield* Effect.acquireRelease(
    Effect.callback<string>((resume) => {
      server.listen(0, "127.0.0.1", () =>
        resume(Effect.succeed(`http://localhost:${(server.address() as AddressInfo).port}`))
      )
    }),
    () =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  )
})
