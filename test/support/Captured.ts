import { Console, Context, Effect, Layer } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** What the service wrote to the terminal, a text for each call. */
export class Terminal extends Context.Service<Terminal, { readonly lines: Array<string> }>()(
  "agent-memory/test/support/Captured/Terminal"
) {
  /** Catches what is written, instead of showing it. */
  static readonly layer = Layer.effectContext(
    Effect.sync(() => {
      const lines: Array<string> = []
      const write = (...parts: ReadonlyArray<unknown>) => void lines.push(parts.map(String).join(" "))
      const console = { ...globalThis.console, log: write, error: write, info: write, warn: write, debug: write }
      return Context.make(Terminal, { lines }).pipe(Context.add(Console.Console, console))
    })
  )
}

/** A span as OTLP's JSON has it. */
export interface Span {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly kind: number
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Record<string, unknown> }>
  readonly links: ReadonlyArray<{ readonly traceId: string; readonly spanId: string }>
}

interface Traces {
  readonly resourceSpans: ReadonlyArray<{
    readonly resource: { readonly attributes: Span["attributes"] }
    readonly scopeSpans: ReadonlyArray<{ readonly spans: ReadonlyArray<Span> }>
  }>
}

/** A collector on this machine: where it takes OTLP, and what it was sent. */
export const otlpCollector = Effect.gen(function* () {
  const bodies: Array<{ readonly path: string; readonly text: string }> = []
  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      bodies.push({ path: request.url ?? "", text: Buffer.concat(chunks).toString() })
      response.writeHead(200, { "content-type": "application/json" }).end("{}")
    })
  })
  yield* Effect.acquireRelease(
    Effect.callback<void>((resume) => void server.listen(0, "127.0.0.1", () => resume(Effect.void))),
    () => Effect.sync(() => void server.close())
  )
  const traces = () =>
    bodies.flatMap(({ path, text }) => (path === "/v1/traces" ? (JSON.parse(text) as Traces).resourceSpans : []))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    resources: () => traces().map(({ resource }) => resource),
    spans: () => traces().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  }
})
