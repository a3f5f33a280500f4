import { IncomingMessage } from "node:http"
import { Option } from "effect"
import type { HttpServerRequest } from "effect/http"
import { isLoopbackHost, type Settings } from "../Config.ts"
import { clientIp } from "./ClientIp.ts"

/** Whom limits by address are counted for: the address of the client, behind trusted proxies the one they tell. */
export const clientOf = (request: HttpServerRequest.HttpServerRequest, settings: Settings["Service"]): string =>
  clientIp({
    peer: Option.getOrUndefined(request.remoteAddress),
    forwardedFor: request.headers["x-forwarded-for"],
    trustedProxies: settings.trustedProxies
  })

/**
 * Whether a request names its host in one way. Where it names none, or two, whatever stands before the service may have
 * read another one (RFC 9112 3.2). HTTP/1.0 knows no hosts.
 */
export const namesOneHost = ({ source }: HttpServerRequest.HttpServerRequest): boolean => {
  if (!(source instanceof IncomingMessage)) return true
  const { length } = (source.headersDistinct["host"] ?? []).filter((host) => host !== "")
  return length === 1 || (length === 0 && source.httpVersion === "1.0")
}

const hostOf = (request: HttpServerRequest.HttpServerRequest): string =>
  (request.headers["host"] ?? "").replace(/:\d*$/, "")

/** Whether a request names a host of this machine alone, as browsers lured by DNS rebinding do not. */
export const namesLoopback = (request: HttpServerRequest.HttpServerRequest): boolean => isLoopbackHost(hostOf(request))

const forwardingHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]

/** Whether a request came to this machine's own address without a proxy in between. */
export const isDirectLocal = (request: HttpServerRequest.HttpServerRequest): boolean =>
  namesLoopback(request) && forwardingHeaders.every((name) => request.headers[name] === undefined)
