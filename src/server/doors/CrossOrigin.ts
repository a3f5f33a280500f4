import type { HttpServerRequest } from "effect/http"
import { isLoopbackHost, type Settings } from "../config/Settings.ts"

/** The origins of known clients that run in browsers. */
const clientOrigins = ["https://claude.ai", "https://claude.com", "https://chatgpt.com"]

const openPaths = /^\/(?:token|register|revoke|\.well-known(?:\/.*)?)$/

const allowedHeaders =
  "Authorization, Content-Type, Accept, MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID"
const exposedHeaders = "WWW-Authenticate, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, X-Request-Id"

const isLoopbackOrigin = (origin: string): boolean => {
  const url = URL.parse(origin)
  return url !== null && url.origin === origin && isLoopbackHost(url.hostname)
}

/**
 * Whether pages of an origin can call `/mcp`: the service's own, known clients, this machine, and ALLOWED_ORIGINS. Programs
 * send no origin and are allowed.
 */
export const isAllowedOrigin = (settings: Settings["Service"], origin: string | undefined): boolean =>
  origin === undefined ||
  origin === settings.baseUrl ||
  clientOrigins.includes(origin) ||
  settings.allowedOrigins.includes(origin) ||
  isLoopbackOrigin(origin)

/**
 * The CORS headers of a response: at `/mcp` for the origins that can call it, at the OAuth endpoints for all, because no cookie
 * counts there. None elsewhere.
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

/** The CORS headers of the response to a preflight request. */
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
