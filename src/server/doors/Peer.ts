import { IncomingMessage } from "node:http"
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { isLoopbackHost, type Settings } from "../config/Settings.ts"
import { clientIp } from "../config/ClientIp.ts"

/** The client's IP address for limits: behind trusted proxies, the one that they report. */
export const clientOf = (request: HttpServerRequest.HttpServerRequest, settings: Settings["Service"]): string =>
  clientIp({
    peer: Option.getOrUndefined(request.remoteAddress),
    forwardedFor: request.headers["x-forwarded-for"],
    trustedProxies: settings.trustedProxies
  })

/**
 * Whether a request names exactly one host. With none or several, a proxy before the service may have read another one
 * (RFC 9112 section 3.2). HTTP/1.0 requests need no host.
 */
export const namesOneHost = ({ source }: HttpServerRequest.HttpServerRequest): boolean => {
  if (!(source instanceof IncomingMessage)) return true
  const { length } = (source.headersDistinct["host"] ?? []).filter((host) => host !== "")
  return length === 1 || (length === 0 && source.httpVersion === "1.0")
}

const hostOf = (request: HttpServerRequest.HttpServerRequest): string =>
  (request.headers["host"] ?? "").replace(/:\d*$/, "")

/** Whether a request names a loopback host. A browser that is attacked by DNS rebinding names another host. */
export const namesLoopback = (request: HttpServerRequest.HttpServerRequest): boolean => isLoopbackHost(hostOf(request))

const forwardingHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]

/** Whether a request was sent to a loopback host, without a proxy in between. */
export const isDirectLocal = (request: HttpServerRequest.HttpServerRequest): boolean =>
  namesLoopback(request) && forwardingHeaders.every((name) => request.headers[name] === undefined)
