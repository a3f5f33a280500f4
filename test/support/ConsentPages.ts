import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { Locator, Page } from "playwright-core"
import { Settings } from "../../src/server/config/Settings.ts"
import { Outbox } from "../../src/server/mail/Mailer.ts"
import { Browser, type Visitor } from "./Browser.ts"
import { callbackText, listenForAnswers } from "./CallbackServer.ts"
import { authorizeQuery, exchange, newClient, newPerson, pkce, tokensOf } from "./OAuth.ts"
import { BaseUrl, bodyOf, request } from "./TestService.ts"
import { press, run, see } from "./Viewer.ts"

let people = 0

/** An address that nobody has signed in with. */
export const newEmail = () => `person${people++}@example.com`

/** A program that wants to be let in: it listens for the answer, and has the address of the page to open. */
export const startClient = Effect.fnUntraced(function* (metadata: object = {}) {
  const { answers, redirectUri } = yield* listenForAnswers
  const client = yield* newClient(metadata)
  const { challenge, verifier } = pkce()
  const { url } = yield* BaseUrl
  const address = `${url}/authorize?${authorizeQuery(client, challenge, { redirect_uri: redirectUri })}`
  /** The tokens for the newest answer's code. */
  const tokens = Effect.suspend(() =>
    Effect.map(
      exchange(client, { code: answers.at(-1)?.get("code") ?? "", verifier }, { redirect_uri: redirectUri }),
      tokensOf
    )
  )
  return { address, answers, redirectUri, tokens }
})

/** A browser that is signed in to a new account. */
export const signedInVisit = Effect.fnUntraced(function* (visitor: Visitor = {}) {
  const person = yield* newPerson
  const visit = yield* (yield* Browser).visit(visitor)
  const { url } = yield* BaseUrl
  const [name = "", value = ""] = person.cookie.split("=")
  yield* run(() => visit.page.context().addCookies([{ name, value, url, httpOnly: true, sameSite: "Lax" }]))
  return { ...visit, person }
})

/** The connections of a key's account. */
export const connectionsOf = Effect.fnUntraced(function* (key: string) {
  const answer = yield* request("GET", "/v1/_connections", { key })
  return bodyOf<{ connections: ReadonlyArray<object> }>(answer).connections
})

export const open = (page: Page, address: string) => run(() => page.goto(address))

export const seeHeading = (page: Page, name: string | RegExp) =>
  run(() => page.getByRole("heading", { level: 1, name }).waitFor())

export const seeCallback = (page: Page) => see(page, callbackText)

/** The newest mail to an address: its code, and its link at the address that this service listens on. */
export const mailTo = Effect.fnUntraced(function* (email: string) {
  const outbox = yield* Outbox
  const { url } = yield* BaseUrl
  const { baseUrl } = yield* Settings
  let mail = yield* outbox.next
  while (mail.to !== email) mail = yield* outbox.next
  const link = /^http\S+$/m.exec(mail.text)?.[0] ?? ""
  assert.isTrue(link.startsWith(`${baseUrl}/`), mail.text)
  return { code: /^\d{6}$/m.exec(mail.text)?.[0] ?? "", link: link.replace(baseUrl, url) }
})

/** Types an address into the first page of a sign-in. */
export const askForMail = Effect.fnUntraced(function* (page: Page, email: string) {
  yield* run(() => page.getByLabel("Email address").fill(email))
  yield* press(page, "Get a code")
  yield* seeHeading(page, "Enter the code")
})

export const typeCode = Effect.fnUntraced(function* (page: Page, code: string) {
  yield* run(() => page.getByLabel("6-digit code").fill(code))
  yield* press(page, "Sign in")
})

/** Presses Tab until this has the focus, as somebody does who has no mouse. */
export const tabTo = (page: Page, role: "button" | "checkbox" | "link" | "radio" | "textbox", name: string) =>
  reach(page, page.getByRole(role, { name, exact: true }).first())

/** {@link tabTo} what a locator finds. */
export const reach = Effect.fnUntraced(function* (page: Page, target: Locator) {
  // Most of the way at once: to look after every step takes as long as the step.
  const steps = yield* run(() =>
    target.evaluate<number, void>(`(element) => {
      const stops = [...document.querySelectorAll("a, button, input, select, textarea, summary, [tabindex]")]
      const reachable = stops.filter((stop) => stop.tabIndex >= 0 && stop.checkVisibility())
      return reachable.indexOf(element) - reachable.indexOf(document.activeElement)
    }`)
  )
  for (let step = 0; step < steps; step++) yield* run(() => page.keyboard.press("Tab"))
  for (let pressed = 0; pressed < 80; pressed++) {
    if (yield* isFocused(target)) return
    yield* run(() => page.keyboard.press("Tab"))
  }
  assert.fail(`Tab does not reach ${String(target)}`)
})

export const isFocused = (target: Locator) => run(() => target.evaluate((element) => element.matches(":focus")))

/** What the browser complained of, but for the statuses of pages that say themselves what is wrong. */
export const complaintsOf = (complaints: ReadonlyArray<string>): ReadonlyArray<string> =>
  complaints.filter((text) => !/status of 40[013]/.test(text))
