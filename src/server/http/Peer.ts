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

const hostOf = (request: HttpServerRequest.HttpServerRequest): string =>
  (request.headers["host"] ?? "").replace(/:\d*$/, "")

/** Whether a request names a host of this machine alone, as browsers lured by DNS rebinding do not. */
export const namesLoopback = (request: HttpServerRequest.HttpServerRequest): boolean => isLoopbackHost(hostOf(request))

const forwardingHeaders = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip", "via"]

/** Whether a request came to this machine's own address without a proxy in between. */
export const isDirectLocal = (request: HttpServerRequest.HttpServerRequest): boolean =>
  namesLoopback(request) && forwardingHeaders.every((name) => request.headers[name] === undefined)
