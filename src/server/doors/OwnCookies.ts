import type { Duration } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Settings } from "../config/Settings.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const isSecure = ({ baseUrl }: Settings["Service"]): boolean => baseUrl.startsWith("https:")

// Browsers accept a __Host- cookie only from this host over https, so no other host can set one.
const nameOf = (name: string, settings: Settings["Service"]): string => (isSecure(settings) ? `__Host-${name}` : name)

const options = (settings: Settings["Service"]) =>
  ({ httpOnly: true, sameSite: "lax", path: "/", secure: isSecure(settings) }) as const

/** The value of one of this service's cookies. */
export const ownCookie = (request: Request, name: string, settings: Settings["Service"]): string | undefined =>
  request.cookies[nameOf(name, settings)]

/** The response with a cookie that scripts cannot read, and that forms of other sites do not send. */
export const withOwnCookie = (
  response: Response,
  cookie: { readonly name: string; readonly value: string; readonly maxAge: Duration.Input },
  settings: Settings["Service"]
): Response =>
  HttpServerResponse.setCookieUnsafe(response, nameOf(cookie.name, settings), cookie.value, {
    ...options(settings),
    maxAge: cookie.maxAge
  })

/** The response that removes one of this service's cookies. */
export const withoutOwnCookie = (response: Response, name: string, settings: Settings["Service"]): Response =>
  HttpServerResponse.expireCookieUnsafe(response, nameOf(name, settings), options(settings))
