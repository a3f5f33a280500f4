import { HttpServerResponse } from "effect/http"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { page } from "../Page.ts"
import { privatePage } from "../PrivatePage.ts"

/** The pages of the header. */
export type Section = "/tables" | "/activity" | "/apps" | "/keys" | "/account"

/** A page of the account, with the header of somebody who is signed in. */
export const accountPage = (input: {
  readonly title: string
  /** The page of the header that it belongs to. */
  readonly current?: Section
  readonly main: HtmlValue
  /** How much of the window it takes: text little, forms more, and data all of it. */
  readonly width?: "narrow" | "wide" | "full"
  readonly styles?: ReadonlyArray<string>
  readonly scripts?: ReadonlyArray<string>
  /** Of a page with an editor, whose styles its script makes. */
  readonly nonce?: string
}): Html => {
  const { current, main, nonce, scripts = [], styles = [], title, width = "narrow" } = input
  return page({
    title,
    robots: "noindex",
    isSignedIn: true,
    ...(current === undefined ? {} : { current }),
    ...(nonce === undefined ? {} : { nonce }),
    styles: ["account.css", ...styles],
    scripts: ["console.js", ...scripts],
    main: html`<main class="${width === "full" ? "wide full" : width}">${main}</main>`
  })
}

/** A page of the account that says one thing and what to do about it. */
export const accountMessage = (title: string, body: Html): Html =>
  accountPage({ title, main: html`<h1>${title}</h1>\n${body}` })

/**
 * The response with a page of the account. Unlike other private pages, it tells this service where its forms were sent from:
 * without that, browsers leave out their origin.
 */
export const accountResponse = (page: Html, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeader(privatePage(page, status), "referrer-policy", "same-origin")

const utc = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })

/** A time of the wire as people read it; the page's script turns it into the browser's own time zone. */
export const timeHtml = (timestamp: string): Html =>
  html`<time datetime="${timestamp}">${utc.format(Date.parse(timestamp))} UTC</time>`

/** What happened to the last form. */
export const notice = (text: HtmlValue): Html | false =>
  text !== undefined && text !== false && html`<div class="note" role="status">${text}</div>`

/** A form's fault, which is announced. */
export const fault = (text: Html | string | undefined, id?: string): Html | false =>
  text !== undefined && html`<p class="form-fault"${id !== undefined && html` id="${id}"`} role="alert">${text}</p>`

/**
 * A button that asks before it acts, without scripts too: it opens the question, and the form within has the button that
 * acts.
 */
export const question = (input: {
  readonly button: HtmlValue
  readonly text: HtmlValue
  readonly form: Html
}): Html => html`<details class="question"><summary class="button">${input.button}</summary>
<div class="card"><p>${input.text}</p>
${input.form}</div></details>`

/** What every form holds to show that one of the account's own pages made it for this session. */
export const proofField = (proof: string): Html => html`<input type="hidden" name="proof" value="${proof}">`

/** How long ago somebody may have signed in at most, in milliseconds, who creates what gives access, or deletes everything. */
const freshFor = 3_600_000

/** Whether somebody has to sign in once more before that. */
export const isStale = ({ now, signedInAt }: { readonly now: Date; readonly signedInAt: Date }): boolean =>
  now.getTime() - signedInAt.getTime() > freshFor

/** Asks somebody to sign in once more. `why` says for what; the sign-in leads back to the page. */
export const freshSignInPage = (email: string, back: Section, why: string): Html =>
  accountMessage(
    "Confirm that it’s you",
    html`<p class="lead">You signed in more than an hour ago. ${why}</p>
<form class="actions" method="post" action="/sign-in/email">
<input type="hidden" name="return_to" value="${back}"><input type="hidden" name="email" value="${email}">
<button class="primary" type="submit">Send a code to ${email}</button><a class="button" href="${back}">Cancel</a>
</form>`
  )
