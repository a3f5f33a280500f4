import type { McpHttpHandler } from "@modelcontextprotocol/server"
import { Context, Effect, Layer, Semaphore } from "effect"
import type { HttpServerResponse } from "effect/http"
import { decodeUtf8 } from "../../domain/json/Utf8.ts"
import { Settings } from "../Config.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import type { AuthenticatedConnection } from "../oauth/Connections.ts"
import { CallTool } from "./CallTool.ts"
import { delivered, formFor } from "./Delivery.ts"
import { ExactAnswer } from "./ExactAnswer.ts"
import { readMessage } from "./Message.ts"
import { operationOf } from "./Operation.ts"
import type { ServedRequest } from "./Server.ts"
import { makeTools } from "./Tools.ts"

/** The body of a request to `/mcp`, with the headers that came with it. */
export interface McpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/**
 * The headers that say what a message is. All others end here: whatever a client accepts is found below, its body is read
 * already, and what opens the account is of no concern any more.
 */
const forwardedHeaders = (headers: McpRequest["headers"]): Headers => {
  const forwarded = new Headers({ accept: "application/json, text/event-stream", "content-type": "application/json" })
  for (const [name, value] of Object.entries(headers)) {
    if (name.startsWith("mcp-") && value !== undefined) forwarded.set(name, value)
  }
  return forwarded
}

/** Aborted when the effect ends, in whatever way. */
const lifetime = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => new AbortController()),
    (controller) => Effect.sync(() => controller.abort())
  ),
  ({ signal }) => signal
)

/**
 * Loads what answers the messages. It is loaded with the first of them: it is a large part of what a start would have to
 * read. Tests put a handler with other tools in its place.
 */
export const LoadHandler = Context.Reference<() => Promise<Pick<McpHttpHandler, "fetch">>>(
  "agent-memory/server/mcp/McpEndpoint/LoadHandler",
  { defaultValue: () => async () => (await import("./Server.ts")).makeHandler() }
)

/** Answers MCP messages of an authenticated connection: one HTTP request, one response, no session. */
export class McpEndpoint extends Context.Service<
  McpEndpoint,
  {
    readonly answer: (
      request: McpRequest,
      connection: AuthenticatedConnection
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
  }
>()("agent-memory/server/mcp/McpEndpoint") {
  static readonly layer = Layer.effect(
    McpEndpoint,
    Effect.gen(function* () {
      const callTool = yield* CallTool
      const tools = makeTools((yield* Settings).limits)
      const handler = yield* Effect.cached(Effect.promise(yield* LoadHandler))

      const answer = Effect.fn("McpEndpoint.answer")(function* (
        { body, headers, url }: McpRequest,
        connection: AuthenticatedConnection
      ) {
        const { fetch } = yield* handler
        const text = decodeUtf8(body)
        const message = text.issue === undefined ? readMessage(text.value, tools.argumentsShape) : undefined
        const record = yield* CurrentRequest
        record.operation = operationOf(message?.body, tools)
        const exact = new ExactAnswer()
        const context = yield* Effect.context<never>()
        // The calls of a batch are one request: they take turns, as everybody else's would wait for what they all hold.
        const turn = Semaphore.makeUnsafe(1)
        const served: ServedRequest = {
          connection,
          tools,
          hold: (json) => exact.hold(json),
          call: (tool, args, { id, signal }) =>
            Effect.runPromiseWith(context)(
              turn.withPermit(callTool.run({ tool, arguments: args, fault: message?.faultOf(id), connection })),
              { signal }
            )
        }
        const authInfo = {
          token: "",
          clientId: connection.clientId,
          scopes: connection.scope.split(" "),
          expiresAt: Math.floor(connection.expiresAt.getTime() / 1000),
          extra: { served }
        }
        const forwarded = new Request(url, {
          method: "POST",
          headers: forwardedHeaders(headers),
          // What can't be read is refused in the library's words for it, as nothing else than ill-formed JSON is.
          body: "{",
          signal: yield* lifetime
        })
        const response = yield* Effect.promise(() =>
          fetch(forwarded, message === undefined ? { authInfo } : { authInfo, parsedBody: message.body })
        )
        const whole = exact.fill(yield* Effect.promise(() => response.text()))
        // A subscription's first message answers nothing: only a stream can carry it.
        const isStream = record.operation === "mcp.subscriptions/listen"
        return delivered(
          response,
          whole,
          isStream ? "stream" : formFor(headers["accept"], Array.isArray(message?.body))
        )
      }, Effect.scoped)

      return McpEndpoint.of({ answer })
    })
  )
}
