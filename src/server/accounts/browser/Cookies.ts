import { Duration, Effect, Option } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Settings } from "../../config/Settings.ts"
import { CurrentRequest } from "../../doors/CurrentRequest.ts"
import { ownCookie, withOwnCookie, withoutOwnCookie } from "../../doors/OwnCookies.ts"
import { type FoundSession, type Session, sessionDays, Sessions } from "./Sessions.ts"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

const sessionName = "agent_memory_session"

/** Whether a request's browser has a session, which may be unknown or expired. */
export const hasSession = (request: Request, settings: Settings["Service"]): boolean =>
  ownCookie(request, sessionName, settings) !== undefined

/** The response that signs its browser in. */
export const withSession = (response: Response, session: Session, settings: Settings["Service"]): Response =>
  withOwnCookie(response, { name: sessionName, value: session.token, maxAge: Duration.days(sessionDays) }, settings)

/** The response that signs its browser out. */
export const withoutSession = (response: Response, settings: Settings["Service"]): Response =>
  withoutOwnCookie(response, sessionName, settings)

const signInName = "agent_memory_sign_in"

/** A browser's secret while it signs in. `mailed` is what the mail contains, where no mail is sent. */
export interface SignInAttempt {
  readonly browser: string
  readonly mailed?: { readonly token: string; readonly code: string }
}

const format = /^([\w-]{43})(?:\.([\w-]{43})\.([0-9]{6}))?$/

/** The sign-in that a request's browser began. */
export const attemptOf = (request: Request, settings: Settings["Service"]): SignInAttempt | undefined => {
  const [, browser, token, code] = format.exec(ownCookie(request, signInName, settings) ?? "") ?? []
  if (browser === undefined) return undefined
  return token === undefined || code === undefined ? { browser } : { browser, mailed: { token, code } }
}

/** The response that gives its browser the secret of the sign-in. */
export const withAttempt = (
  response: Response,
  { browser, mailed }: SignInAttempt,
  settings: Settings["Service"]
): Response => {
  const value = mailed === undefined ? browser : `${browser}.${mailed.token}.${mailed.code}`
  // An hour longer than the code, so that the page can say that it has expired, and for which address.
  const maxAge = Duration.minutes(settings.limits.magicLinkMinutes + 60)
  return withOwnCookie(response, { name: signInName, value, maxAge }, settings)
}

/** The response that removes its browser's secret of a sign-in. */
export const withoutAttempt = (response: Response, settings: Settings["Service"]): Response =>
  withoutOwnCookie(response, signInName, settings)

/** The session of the browser that sent a request. The request's log line gets its account. */
export const currentSession = Effect.fnUntraced(function* (request: Request) {
  const token = ownCookie(request, sessionName, yield* Settings)
  const session = token === undefined ? Option.none<FoundSession>() : yield* (yield* Sessions).find(token)
  if (Option.isSome(session)) (yield* CurrentRequest).accountId = session.value.accountId
  return session
})
