import {
  createMcpHandler,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  type JSONRPCRequest,
  type Result,
  type ServerContext
} from "@modelcontextprotocol/server"
import type { JsonText } from "../../domain/json/JsonText.ts"
import type { AuthenticatedConnection } from "../oauth/Connections.ts"
import type { ToolOutcome } from "./CallTool.ts"
import { instructionsFor } from "./Instructions.ts"
import { paramsFault } from "./Params.ts"
import type { Tool } from "./Tool.ts"
import type { Tools } from "./Tools.ts"

/** What the handler of one HTTP request works with. */
export interface ServedRequest {
  readonly connection: AuthenticatedConnection
  readonly tools: Tools
  /** Stands for exact JSON in an answer. */
  readonly hold: (json: JsonText) => Record<string, unknown>
  readonly call: (
    tool: Tool,
    /** What stands for the arguments in the message. */
    heldArguments: unknown,
    request: { readonly signal: AbortSignal }
  ) => Promise<ToolOutcome>
}

/** What is listed depends on the connection's access alone, so its client may keep it for a while. */
const kept = { ttlMs: 300_000, cacheScope: "private" } as const

/** Refuses ill-formed params in words of its own: the library's are a dump of its schema's issues. */
class CarefulServer extends Server {
  protected override _wrapHandler(
    method: string,
    handler: (request: JSONRPCRequest, context: ServerContext) => Promise<Result>
  ) {
    const wrapped = super._wrapHandler(method, handler)
    return async (request: JSONRPCRequest, context: ServerContext) => {
      const fault = paramsFault(request)
      if (fault !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, fault)
      return wrapped(request, context)
    }
  }
}

/** The server that answers the messages of one HTTP request. */
export const serverFor = ({ call, connection, hold, tools }: ServedRequest): Server => {
  const server = new CarefulServer(
    { name: "agent-memory", title: "Agent Memory", version: "0.1.0" },
    {
      capabilities: { tools: {} },
      instructions: instructionsFor(connection),
      cacheHints: { "tools/list": kept, "server/discover": kept }
    }
  )
  const listed = tools.listedFor(connection.access)
  server.setRequestHandler("tools/list", () => ({ tools: [...listed] }))
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = tools.named(params.name)
    if (tool === undefined) {
      const names = listed.map(({ name }) => name)
      const message = `There is no tool ${params.name.slice(0, 100)}. The tools are ${names.join(", ")}.`
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, message)
    }
    const outcome = await call(tool, params.arguments, mcpReq)
    if (outcome._tag === "Refused") {
      return { isError: true, content: [{ type: "text", text: JSON.stringify(outcome.problem) }] }
    }
    return { content: [{ type: "text", text: outcome.json.text }], structuredContent: hold(outcome.json) }
  })
  return server
}

/** Serves both eras of the protocol on one address, without sessions (Streamable HTTP). */
export const makeHandler = (server: (served: ServedRequest) => Server = serverFor) =>
  createMcpHandler(({ authInfo }) => server((authInfo!.extra as { served: ServedRequest }).served))
