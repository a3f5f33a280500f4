import { Duration } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import type { Settings } from "../Config.ts"
import { ownCookie, withOwnCookie, withoutOwnCookie } from "./OwnCookies.ts"

const name = "agent_memory_sign_in"

/** A browser's secret while it signs in; with what was mailed, where no mail is sent. */
export interface SignInAttempt {
  readonly browser: string
  readonly mailed?: { readonly token: string; readonly code: string }
}

const format = /^([\w-]{43})(?:\.([\w-]{43})\.([0-9]{6}))?$/

/** The sign-in that a request's browser began. */
export const attemptOf = (
  request: HttpServerRequest.HttpServerRequest,
  settings: Settings["Service"]
): SignInAttempt | undefined => {
  const [, browser, token, code] = format.exec(ownCookie(request, name, settings) ?? "") ?? []
  if (browser === undefined) return undefined
  return token === undefined || code === undefined ? { browser } : { browser, mailed: { token, code } }
}

/** The response that makes its browser the one that began the sign-in. */
export const withAttempt = (
  response: HttpServerResponse.HttpServerResponse,
  { browser, mailed }: SignInAttempt,
  settings: Settings["Service"]
): HttpServerResponse.HttpServerResponse => {
  const value = mailed === undefined ? browser : `${browser}.${mailed.token}.${mailed.code}`
  // Longer than the code lives, so that the page can say that it is over, and for which address.
  const maxAge = Duration.minutes(settings.limits.magicLinkMinutes + 60)
  return withOwnCookie(response, { name, value, maxAge }, settings)
}

/** The response that ends its browser's part in a sign-in. */
export const withoutAttempt = (
  response: HttpServerResponse.HttpServerResponse,
  settings: Settings["Service"]
): HttpServerResponse.HttpServerResponse => withoutOwnCookie(response, name, settings)
