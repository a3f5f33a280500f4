import type { HttpServerResponse } from "effect/http"
import { resourceMetadataUrl } from "../oauth/Metadata.ts"
import { memoryScope } from "../oauth/Scopes.ts"
import { rpcRefusal } from "./RpcRefusal.ts"

const adviceFor = (token: string): string =>
  token.startsWith("svc_live_")
    ? "An API key opens /v1, not /mcp: clients of /mcp sign in by themselves."
    : "The access token is unknown, over or revoked. Refresh it, or sign in again."

/**
 * Sends a client to the sign-in (RFC 6750 section 3, RFC 9728 section 5.1). Only who showed a token is told that it is not
 * valid: for the others nothing went wrong.
 */
export const unauthorized = (baseUrl: string, token?: string): HttpServerResponse.HttpServerResponse => {
  const advice = token === undefined ? "Sign in first: MCP clients open a page for it by themselves." : adviceFor(token)
  const parameters = [
    ...(token === undefined ? [] : ['error="invalid_token"', `error_description="${advice}"`]),
    `scope="${memoryScope}"`,
    `resource_metadata="${resourceMetadataUrl(baseUrl)}"`
  ]
  return rpcRefusal(401, advice, { "www-authenticate": `Bearer ${parameters.join(", ")}` })
}
