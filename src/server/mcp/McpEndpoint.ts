import type { McpHttpHandler } from "@modelcontextprotocol/server"
import { Context, Effect, Layer, Semaphore } from "effect"
import { HttpServerResponse } from "effect/http"
import { randomUUID } from "node:crypto"
import { JsonText } from "../../domain/json/JsonText.ts"
import { takeUtf8 } from "../../domain/json/Utf8.ts"
import { Settings } from "../config/Settings.ts"
import { answer } from "../capacity/SendResponse.ts"
import { compressed } from "../doors/NodeServer.ts"
import { CurrentRequest } from "../doors/CurrentRequest.ts"
import type { AuthenticatedConnection } from "../oauth/Grants.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { CallTool } from "./CallTool.ts"
import type { ServedRequest } from "./McpServer.ts"
import { type Admit, operationOf, readMessages, Unreadable } from "./Messages.ts"
import { rpcError } from "./RpcRefusal.ts"
import { makeTools } from "./Tools.ts"

/** The body of a request to `/mcp`, with the headers that came with it. */
interface McpRequest {
  readonly url: string
  /** Whether the client's address asks for a list of tools without aliases. */
  readonly isCore: boolean
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
const lifetime = Effect.gen(function* () {
  const controller = new AbortController()
  yield* Effect.addFinalizer(() => Effect.sync(() => controller.abort()))
  return controller.signal
})

/**
 * Loads what answers the messages. It is loaded with the first of them: it is a large part of what a start would have to
 * read. Tests put a handler with other tools in its place.
 */
export const LoadHandler = Context.Reference<() => Promise<Pick<McpHttpHandler, "fetch">>>(
  "agent-memory/server/mcp/McpEndpoint/LoadHandler",
  { defaultValue: () => async () => (await import("./McpServer.ts")).makeHandler() }
)

/** Answers MCP messages of an authenticated connection: one HTTP request, one response, no session. */
export class McpEndpoint extends Context.Service<McpEndpoint>()("agent-memory/server/mcp/McpEndpoint", {
  make: Effect.gen(function* () {
    const callTool = yield* CallTool
    const tools = makeTools((yield* Settings).limits)
    const handler = yield* Effect.cached(Effect.promise(yield* LoadHandler))

    const messagesOf = Effect.fnUntraced(function* (body: Uint8Array, admit: Admit) {
      const { issue, value: text } = takeUtf8(body)
      if (issue !== undefined) return yield* new Unreadable({ code: -32_700, message: issue.message })
      return yield* readMessages(text, tools, admit)
    })

    const answer = traced("McpEndpoint.answer")(
      function* ({ body, headers, isCore, url }: McpRequest, connection: AuthenticatedConnection, admit: Admit) {
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
          isCore,
          hold: (json) => exact.hold(json),
          call: (tool, held, { signal }) =>
            Effect.runPromiseWith(context)(
              turn.withPermit(callTool.run({ tool, given: messages.given(held), connection })),
              { signal }
            )
        }
        const { clientId, expiresAt, scope } = connection
        const authInfo = {
          token: "",
          clientId,
          scopes: scope.split(" "),
          expiresAt: Math.floor(expiresAt.getTime() / 1000),
          extra: { served }
        }
        const signal = yield* lifetime
        const forwarded = new Request(url, { method: "POST", headers: forwardedHeaders(headers), signal })
        const response = yield* Effect.promise(() => fetch(forwarded, { authInfo, parsedBody: messages.body }))
        const whole = exact.fill(yield* Effect.promise(() => response.text()))
        // A subscription's first message answers nothing: only a stream can carry it.
        const isStream = record.operation === "mcp.subscriptions/listen"
        const form = isStream ? "stream" : formFor(headers["accept"], Array.isArray(messages.body))
        return yield* compressed(delivered(response, whole, form), headers["accept-encoding"])
      },
      Effect.scoped,
      Effect.catchTag("Unreadable", ({ code, message }) => Effect.succeed(rpcError(400, message, {}, code)))
    )

    return { answer }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

const streamType = "text/event-stream"
const dataField = "data: "

/** How a client wants its answer: as an event stream where one is due, or as JSON, which is an array for a batch. */
type Form = "stream" | "message" | "batch"

/** Whoever does not say that it takes event streams gets JSON. */
const formFor = (accept: string | undefined, isBatch: boolean): Form =>
  accept?.toLowerCase().includes(streamType) ? "stream" : isBatch ? "batch" : "message"

// Lines end with a line feed alone here: JSON may hold other separators of lines as they are.
const messagesOf = (events: string): ReadonlyArray<string> =>
  events.split("\n").flatMap((line) => (line.startsWith(dataField) ? [line.slice(dataField.length)] : []))

/** An answer as it goes out: whole, so that no client holds a stream open, and in the client's form. */
const delivered = (response: Response, text: string, form: Form): HttpServerResponse.HttpServerResponse => {
  const headers = Object.fromEntries(response.headers)
  // The connection is the server's own business, which ends those of a service that stops.
  delete headers["connection"]
  const { status } = response
  const contentType = headers["content-type"]
  if (contentType === undefined) return HttpServerResponse.empty({ status, headers })
  if (form === "stream" || !contentType.startsWith(streamType)) {
    return HttpServerResponse.text(text, { status, headers, contentType })
  }
  const messages = messagesOf(text).flatMap((message, index) => (index === 0 ? [message] : [",", message]))
  return answer(JsonText.joined(form === "batch" ? ["[", ...messages, "]"] : messages), status)
}

/**
 * Carries exact JSON through a library that knows JavaScript values only: each text is a place holder on the way, which
 * is filled in when the whole answer is text. Nobody can store a place holder, since each request has its own.
 */
class ExactAnswer {
  readonly #mark = randomUUID()
  readonly #texts: Array<string> = []

  /** The object that stands for the text. */
  hold(json: JsonText): Record<string, unknown> {
    this.#texts.push(json.text)
    return { [this.#mark]: this.#texts.length - 1 }
  }

  /** The answer's text with all place holders filled in. */
  fill(text: string): string {
    if (this.#texts.length === 0) return text
    return text.replaceAll(new RegExp(`\\{"${this.#mark}":(\\d+)\\}`, "g"), (_, index) => this.#texts[Number(index)]!)
  }
}
