import { HttpServerResponse } from "effect/http"

/** The MCP schema's words for a body that is no message, and for a service that can't serve one. */
const schemaCodes: Readonly<Record<number, number>> = { 400: -32_700, 503: -32_603 }

/**
 * A refusal that comes before any message was read: a JSON-RPC error that answers no id. Where the MCP schema has no code
 * for what HTTP refuses, the code is the status: JSON-RPC 2.0 section 5.1 leaves such numbers to the application.
 */
export const rpcRefusal = (
  status: number,
  message: string,
  headers: Readonly<Record<string, string>> = {},
  code = schemaCodes[status] ?? status
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", error: { code, message } }, { status, headers })
