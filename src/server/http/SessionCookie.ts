import { Duration } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { sessionDays, type Session } from "../accounts/Sessions.ts"
import type { Settings } from "../Config.ts"
import { ownCookie, withOwnCookie, withoutOwnCookie } from "./OwnCookies.ts"

const name = "agent_memory_session"

/** The token of the session that a request's browser claims to have. */
export const sessionToken = (
  request: HttpServerRequest.HttpServerRequest,
  settings: Settings["Service"]
): string | undefined => ownCookie(request, name, settings)

/** The response that signs its browser in. */
export const withSession = (
  response: HttpServerResponse.HttpServerResponse,
  session: Session,
  settings: Settings["Service"]
): HttpServerResponse.HttpServerResponse =>
  withOwnCookie(response, { name, value: session.token, maxAge: Duration.days(sessionDays) }, settings)

/** The response that signs its browser out. */
export const withoutSession = (
  response: HttpServerResponse.HttpServerResponse,
  settings: Settings["Service"]
): HttpServerResponse.HttpServerResponse => withoutOwnCookie(response, name, settings)
