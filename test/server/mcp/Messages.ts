import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { rpcOf, type ToolAnswer } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"

export const protocolVersion = "2026-07-28"

/** What a modern request says of its client. */
export const meta = {
  "io.modelcontextprotocol/protocolVersion": protocolVersion,
  "io.modelcontextprotocol/clientCapabilities": {}
}

/** A JSON-RPC request. */
export const rpc = (method: string, params?: object, id: unknown = 1) => ({
  jsonrpc: "2.0",
  id,
  method,
  ...(params === undefined ? {} : { params })
})

/** Sends a message as a client of the legacy eras does. */
export const send = (token: string, message: unknown, headers: Record<string, string> = {}) =>
  callMcp(token, { body: typeof message === "string" ? message : JSON.stringify(message), headers })

/** Sends a request as a client of the modern era does. */
export const sendModern = Effect.fnUntraced(function* (
  token: string,
  method: string,
  params: object = {},
  headers: Record<string, string> = {}
) {
  return yield* send(token, rpc(method, { _meta: meta, ...params }), {
    "mcp-protocol-version": protocolVersion,
    "mcp-method": method,
    ...headers
  })
})

/** Calls a tool as clients of both eras do, and gives what both are answered. */
export const callInEras = Effect.fnUntraced(function* (token: string, name: string, args: object) {
  const params = { name, arguments: args }
  const legacy = yield* send(token, rpc("tools/call", params))
  const modern = yield* sendModern(token, "tools/call", params, { "mcp-name": name })
  return [legacy, modern].map((answer) => {
    const { result } = rpcOf<{ result?: ToolAnswer }>(answer)
    assert.isDefined(result, answer.text)
    return JSON.parse(result!.content[0]!.text) as Record<string, unknown>
  })
})

/** An answer's error. */
export interface Failed {
  readonly id: unknown
  readonly error: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> }
}

export const initialize = (protocolVersion: string) =>
  rpc("initialize", { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } })
