import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** What one request meets instead of the service. */
export type Fault =
  | {
      readonly kind: "answer"
      readonly status: number
      readonly headers?: Record<string, string>
      readonly body?: string
    }
  /** The connection is cut before the service hears of the request, or once the service has carried it out. */
  | { readonly kind: "cut before" | "cut after" }
  /** The same, and the client is told so by a reset (RST) instead of an orderly end. */
  | { readonly kind: "reset after" }
  /** The request reaches the service without its body, as some proxies pass a DELETE on. */
  | { readonly kind: "strip body" }
  /** The request reaches the service as it is. */
  | { readonly kind: "none" }
  | { readonly kind: "silence" }

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly idempotencyKey: string | undefined
  /** In milliseconds, to compare with others. */
  readonly at: number
}

/** Where nobody answers: no system gives a port below 1024 away, and `fetch` itself refuses port 1. */
export const nobodysUrl = "http://127.0.0.1:2"

/** A server whose requests meet these faults, one after another; later ones reach the service at `target`. */
export const withFaults = async <A>(
  { faults, target = "" }: { readonly faults: ReadonlyArray<Fault>; readonly target?: string },
  use: (url: string, seen: ReadonlyArray<SeenRequest>) => Promise<A>
): Promise<A> => {
  const seen: Array<SeenRequest> = []
  const left = [...faults]

  const forward = async (
    request: IncomingMessage,
    withBody = true
  ): Promise<{ readonly status: number; readonly body: string }> => {
    const chunks: Array<Buffer> = []
    for await (const chunk of request) if (withBody) chunks.push(chunk as Buffer)
    const headers = Object.entries(request.headers).filter(([name]) =>
      ["authorization", "content-type", "idempotency-key"].includes(name)
    ) as Array<[string, string]>
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }
    const answer = await fetch(target + request.url, { method: request.method!, headers, ...body })
    return { status: answer.status, body: await answer.text() }
  }

  const meet = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { headers, method = "", url: path = "" } = request
    const key = headers["idempotency-key"]
    seen.push({ method, path, idempotencyKey: typeof key === "string" ? key : undefined, at: performance.now() })
    const fault = left.shift()
    switch (fault?.kind) {
      case "silence":
        return
      case "cut before":
        request.socket.destroy()
        return
      case "cut after":
        await forward(request)
        request.socket.destroy()
        return
      case "reset after":
        await forward(request)
        request.socket.resetAndDestroy()
        return
      case "answer":
        response.writeHead(fault.status, { "content-type": "application/problem+json", ...fault.headers })
        response.end(fault.body ?? `{"code":"unavailable","status":${fault.status},"detail":"Not now."}`)
        return
      case "strip body":
      case "none":
      case undefined: {
        const { body, status } = await forward(request, fault?.kind !== "strip body")
        response.writeHead(status, { "content-type": "application/json" }).end(body)
      }
    }
  }

  const server = createServer((request, response) => void meet(request, response))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen)
  } finally {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
}
