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
import { readMessages, Unreadable } from "./Message.ts"
import { operationOf } from "./Operation.ts"
import type { TooMuch } from "./RequestLimit.ts"
import { rpcRefusal } from "./RpcRefusal.ts"
import type { ServedRequest } from "./Server.ts"
import { makeTools } from "./Tools.ts"

/** The body of a request to `/mcp`, with the headers that came with it. */
export interface McpRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: Uint8Array
}

/** Asked whether so many messages may be answered, before any is. */
export type Admit = (messages: number) => Effect.Effect<void, TooMuch>

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
      connection: AuthenticatedConnection,
      admit: Admit
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse, TooMuch>
  }
>()("agent-memory/server/mcp/McpEndpoint") {
  static readonly layer = Layer.effect(
    McpEndpoint,
    Effect.gen(function* () {
      const callTool = yield* CallTool
      const tools = makeTools((yield* Settings).limits)
      const handler = yield* Effect.cached(Effect.promise(yield* LoadHandler))

      const messagesOf = Effect.fnUntraced(function* (body: Uint8Array, admit: Admit) {
        const { issue, value: text } = decodeUtf8(body)
        if (issue !== undefined) return yield* new Unreadable({ code: -32_700, message: issue.message })
        return yield* readMessages(text, tools, admit)
      })

      const answer: McpEndpoint["Service"]["answer"] = Effect.fn("McpEndpoint.answer")(
        function* ({ body, headers, url }, connection, admit) {
          const record = yield* CurrentRequest
          record.operation = operationOf(undefined, tools)
          const messages = yield* messagesOf(body, admit)
          record.operation = operationOf(messages.body, tools)
          const { fetch } = yield* handler
          const exact = new ExactAnswer()
          const context = yield* Effect.context<never>()
          // The calls of a batch are one request: they take turns, as everybody else's would wait for what they all hold.
          const turn = Semaphore.makeUnsafe(1)
          const served: ServedRequest = {
            connection,
            tools,
            hold: (json) => exact.hold(json),
            call: (tool, held, { signal }) =>
              Effect.runPromiseWith(context)(
                turn.withPermit(callTool.run({ tool, given: messages.given(held), connection })),
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
            signal: yield* lifetime
          })
          const response = yield* Effect.promise(() => fetch(forwarded, { authInfo, parsedBody: messages.body }))
          const whole = exact.fill(yield* Effect.promise(() => response.text()))
          // A subscription's first message answers nothing: only a stream can carry it.
          const isStream = record.operation === "mcp.subscriptions/listen"
          return delivered(
            response,
            whole,
            isStream ? "stream" : formFor(headers["accept"], Array.isArray(messages.body))
          )
        },
        Effect.scoped,
        Effect.catchTag("Unreadable", ({ code, message }) => Effect.succeed(rpcRefusal(400, message, {}, code)))
      )

      return McpEndpoint.of({ answer })
    })
  )
}
