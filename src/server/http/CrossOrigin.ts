import type { HttpServerRequest } from "effect/http"
import { isLoopbackHost, type Settings } from "../Config.ts"

/** Clients that run in browsers, at these addresses or on the person's own machine. */
const clientOrigins = ["https://claude.ai", "https://claude.com", "https://chatgpt.com"]

const openPaths = /^\/(?:token|register|revoke|\.well-known(?:\/.*)?)$/

const allowedHeaders = [
  "Authorization",
  "Content-Type",
  "Accept",
  "MCP-Protocol-Version",
  "Mcp-Session-Id",
  "Mcp-Method",
  "Mcp-Name",
  "Last-Event-ID"
].join(", ")

const exposedHeaders = [
  "WWW-Authenticate",
  "Mcp-Session-Id",
  "MCP-Protocol-Version",
  "Retry-After",
  "X-Request-Id"
].join(", ")

const isLoopbackOrigin = (origin: string): boolean => {
  const url = URL.parse(origin)
  return url !== null && url.origin === origin && isLoopbackHost(url.hostname)
}

/**
 * Whether pages of an origin may call `/mcp`: the service's own, those of known clients, of this machine, and of
 * ALLOWED_ORIGINS. Programs send no origin and pass.
 */
export const isAllowedOrigin = (settings: Settings["Service"], origin: string | undefined): boolean =>
  origin === undefined ||
  origin === settings.baseUrl ||
  clientOrigins.includes(origin) ||
  settings.allowedOrigins.includes(origin) ||
  isLoopbackOrigin(origin)

/**
 * The headers by which browsers let pages of other origins read an answer: at `/mcp` those that may call it, at the
 * addresses of OAuth all, as no cookie counts there. None elsewhere.
 */
export const crossOriginHeaders = (
  settings: Settings["Service"],
  request: HttpServerRequest.HttpServerRequest
): Readonly<Record<string, string>> => {
  const path = request.url.split("?", 1)[0]!
  const origin = request.headers["origin"]
  const isMcp = path === "/mcp" || path === "/mcp/"
  if (!isMcp && !openPaths.test(path)) return {}
  const reader = !isMcp ? "*" : isAllowedOrigin(settings, origin) ? origin : undefined
  return {
    ...(reader === undefined ? {} : { "access-control-allow-origin": reader }),
    ...(isMcp ? { vary: "Origin" } : {}),
    "access-control-expose-headers": exposedHeaders
  }
}

/** What browsers ask for before they let such a page send a request. */
export const preflightHeaders = (
  settings: Settings["Service"],
  request: HttpServerRequest.HttpServerRequest,
  allowed: ReadonlyArray<string>
): Readonly<Record<string, string>> =>
  crossOriginHeaders(settings, request)["access-control-expose-headers"] === undefined
    ? {}
    : {
        "access-control-allow-methods": allowed.join(", "),
        "access-control-allow-headers": allowedHeaders,
        "access-control-max-age": "86400"
      }
