import { Effect } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A client's own web server, which the browser comes back to with the answer. */
interface CallbackServer {
  readonly redirectUri: string
  /** The parameters of every answer, in the order in which they came. */
  readonly answers: ReadonlyArray<URLSearchParams>
}

/** What the page of a {@link CallbackServer} says. */
export const callbackText = "Go back to the program."

/** Listens on a free loopback port, as programs do for as long as they wait for an answer. */
export const listenForAnswers = Effect.gen(function* () {
  const answers: Array<URLSearchParams> = []
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://127.0.0.1")
    if (pathname === "/callback") answers.push(searchParams)
    response.setHeader("content-type", "text/html; charset=utf-8")
    response.end(`<!doctype html><html lang="en"><title>Callback</title><h1>${callbackText}</h1>`)
  })
  yield* Effect.acquireRelease(
    Effect.promise(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))),
    () =>
      Effect.promise(() => {
        server.closeAllConnections()
        return new Promise((resolve) => server.close(resolve))
      })
  )
  const { port } = server.address() as AddressInfo
  return { redirectUri: `http://127.0.0.1:${port}/callback`, answers } satisfies CallbackServer
})
