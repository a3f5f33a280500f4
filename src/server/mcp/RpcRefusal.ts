import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { html } from "../doors/Html.ts"
import { wantsPage } from "../doors/Routes.ts"
import { Data } from "effect"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"
import { resourceMetadataUrl, memoryScope } from "../oauth/ServerMetadata.ts"

/** Whether a person opened the address of `/mcp` in a browser: clients take event streams or JSON. */
const isPerson = (request: HttpServerRequest.HttpServerRequest): boolean =>
  request.method === "GET" && wantsPage(request) && request.headers["accept"]?.includes("text/event-stream") !== true

const page = html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>This address is for agents</title>
<main>
<h1>This address is for agents</h1>
<p>There is nothing to see here. Give the address to your agent, which then opens a page to sign in.</p>
<p><a href="/install">Connect an agent</a></p>
</main>
</html>`

/** What a person sees there, with the status and headers that a client would get. */
const addressPage = (status: number, headers: RpcRefusal["headers"]): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(String(page), {
    status,
    contentType: "text/html; charset=utf-8",
    headers: {
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      ...headers
    }
  })

/** The MCP schema's codes for a body that is no message, and for a service that can't serve one. */
const schemaCodes: Readonly<Record<number, number>> = { 400: -32_700, 503: -32_603 }

/** A refusal that only MCP has. */
export class RpcRefusal extends Data.TaggedError("RpcRefusal")<{
  readonly status: number
  readonly code: string
  readonly detail: string
  readonly headers?: Readonly<Record<string, string>> | undefined
}> {}

/**
 * A refusal that comes before any message was read: a JSON-RPC error that answers no id. Where the MCP schema has no code
 * for what HTTP refuses, the code is the status: JSON-RPC 2.0 section 5.1 leaves such numbers to the application.
 */
export const rpcError = (
  status: number,
  message: string,
  headers: RpcRefusal["headers"] = {},
  code = schemaCodes[status] ?? status
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe({ jsonrpc: "2.0", error: { code, message } }, { status, headers })

/** Renders refusals of `/mcp`, for a person who came with a browser as a page. */
export const renderRpc: Renderer<RpcRefusal | Problem> = (failure, { request }) => {
  const { detail = "The service is not ready.", status } = failure
  const headers = failure instanceof RpcRefusal ? failure.headers : undefined
  if (isPerson(request)) return addressPage(status, headers)
  if (failure instanceof RpcRefusal) return rpcError(status, detail, headers)
  return rpcError(status, status === 415 ? `${detail} Send application/json as it is.` : detail)
}

const adviceFor = (token: string | undefined): string => {
  if (token === undefined) return "Sign in first: MCP clients open a page for it by themselves."
  return token.startsWith("svc_live_")
    ? "An API key opens /v1, not /mcp: clients of /mcp sign in by themselves."
    : "The access token is unknown, over or revoked. Refresh it, or sign in again."
}

/** Sends a client to the sign-in (RFC 6750 section 3, RFC 9728 section 5.1); it is no error to have no token yet. */
export const unauthorized = (baseUrl: string, token?: string): RpcRefusal => {
  const advice = adviceFor(token)
  const parameters = [
    ...(token === undefined ? [] : ['error="invalid_token"', `error_description="${advice}"`]),
    `scope="${memoryScope}"`,
    `resource_metadata="${resourceMetadataUrl(baseUrl)}"`
  ]
  return new RpcRefusal({
    status: 401,
    code: "unauthenticated",
    detail: advice,
    headers: { "www-authenticate": `Bearer ${parameters.join(", ")}` }
  })
}
