import type { Duration } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import type { Settings } from "../Config.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const isSecure = ({ baseUrl }: Settings["Service"]): boolean => baseUrl.startsWith("https:")

// Browsers let nobody but this very host set a __Host- cookie, and only over https: no neighbouring host can plant one.
const nameOf = (name: string, settings: Settings["Service"]): string => (isSecure(settings) ? `__Host-${name}` : name)

const options = (settings: Settings["Service"]) =>
  ({ httpOnly: true, sameSite: "lax", path: "/", secure: isSecure(settings) }) as const

/** The value of a cookie of ours. */
export const ownCookie = (request: Request, name: string, settings: Settings["Service"]): string | undefined =>
  request.cookies[nameOf(name, settings)]

/** The response that sets a cookie no script can read and no other site's form sends. */
export const withOwnCookie = (
  response: Response,
  cookie: { readonly name: string; readonly value: string; readonly maxAge: Duration.Input },
  settings: Settings["Service"]
): Response =>
  HttpServerResponse.setCookieUnsafe(response, nameOf(cookie.name, settings), cookie.value, {
    ...options(settings),
    maxAge: cookie.maxAge
  })

/** The response that makes the browser forget a cookie of ours. */
export const withoutOwnCookie = (response: Response, name: string, settings: Settings["Service"]): Response =>
  HttpServerResponse.expireCookieUnsafe(response, nameOf(name, settings), options(settings))
