import { randomUUID } from "node:crypto"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { numberText, plural } from "../../../domain/Amounts.ts"
import { readTree, type JsonText } from "../../../domain/json/JsonText.ts"
import { clientName } from "../ConsentPage.ts"
import type { ChangedBy } from "../../../domain/Row.ts"
import { HttpServerResponse } from "effect/http"
import { page } from "../Page.ts"
import { privatePage } from "../PrivatePage.ts"

/**
 * In a form that adds rows: a key by which it is carried out once, also if it is sent again after a lost answer or by a second
 * click. Browsers may not restore it on a reload, as they do with what was typed.
 */
export const onceField = (): Html => html`<input type="hidden" name="key" value="${randomUUID()}" autocomplete="off">`

/** The idempotency key of a form with {@link onceField}. */
export const keyOf = (sent: string | null | undefined): string | undefined => /^[0-9a-f-]{36}$/.exec(sent ?? "")?.[0]

/** What is said where a form was sent again with something else in it, or after its rows were removed for good. */
export const sentBefore = "This form was sent before, and its rows were added. Look at the table before you add more."

/** From this share of a limit on, a person is warned. */
const warnFrom = 0.8

const kib = 1024

/** Bytes for reading at a glance: `812 bytes`, `3.4 KB`, `25 MB`. */
export const bytesText = (bytes: number): string => {
  if (bytes < kib) return `${numberText(bytes)} ${bytes === 1 ? "byte" : "bytes"}`
  const [value, unit] = bytes < kib * kib ? [bytes / kib, "KB"] : [bytes / kib / kib, "MB"]
  return `${numberText(Math.round(value * 10) / 10)} ${unit}`
}

/** How much of a limit is used, as a bar with words beside it, and a warning from 80 % on. */
export const bar = (label: string, used: number, limit: number, text: (value: number) => string): Html => {
  const isNear = used >= warnFrom * limit
  return html`<div class="bar"${isNear && html` data-near`}>
<span>${label}</span><span>${text(used)} of ${text(limit)}${isNear && html` <strong class="warning">${used >= limit ? "Full" : "Nearly full"}</strong>`}</span>
<meter min="0" max="${limit}" high="${warnFrom * limit}" value="${Math.min(used, limit)}" aria-label="${label}"></meter></div>\n`
}

/**
 * Who made a change, as its person reads it, or somebody to whom its person is `owner`. Names are what apps and programs call
 * themselves.
 */
export const authorHtml = ({ kind, name }: Pick<ChangedBy, "kind" | "name">, owner = "you"): Html => {
  switch (kind) {
    case "person":
      return html`${owner}`
    case "key":
      return html`the API key ${clientName(name)}`
    case "mcp":
      return html`the app ${clientName(name)}`
    case "link":
      return html`a link of ${clientName(name)}`
  }
}

/** {@link authorHtml} of a stored author. */
export const authorOf = (changedBy: JsonText, owner?: string): Html =>
  authorHtml(readTree(changedBy.text, Number) as ChangedBy, owner)

/** The pages of the header. */
export type Section = "/tables" | "/activity" | "/apps" | "/keys" | "/account"

/** A page of the account, with the header of somebody who is signed in. */
export const accountPage = (
  title: string,
  options: {
    /** The page of the header that it belongs to. */
    readonly current?: Section
    /** How much of the window it takes: text little, forms more, and data all of it. */
    readonly width?: "narrow" | "wide" | "full"
    readonly styles?: ReadonlyArray<string>
    readonly scripts?: ReadonlyArray<string>
    /** Of a page with an editor, whose styles its script makes. */
    readonly nonce?: string
  },
  main: Html
): Html => {
  const { scripts = [], styles = [], width = "narrow", ...others } = options
  return page({
    ...others,
    title,
    robots: "noindex",
    isSignedIn: true,
    styles: ["account.css", ...(width === "narrow" ? [] : ["console.css"]), ...styles],
    scripts: ["console.js", ...scripts],
    main: html`<main class="${width === "full" ? "wide full" : width}">${main}</main>`
  })
}

/** A page of the account that says one thing and what to do about it. */
export const accountMessage = (title: string, body: Html): Html =>
  accountPage(title, {}, html`<h1>${title}</h1>\n${body}`)

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
export const question = (
  button: HtmlValue,
  text: HtmlValue,
  form: Html
): Html => html`<details class="question"><summary class="button">${button}</summary>
<div class="card"><p>${text}</p>
${form}</div></details>`

/** What every form of an account's own pages holds to show that it was made for this session; nothing without a proof. */
export const proofField = (proof: string | undefined): Html | false =>
  proof !== undefined && html`<input type="hidden" name="proof" value="${proof}">`

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

const kinds = ["changed", "deleted", "imported"] as const

/** A button that takes back the write of an address. */
export const undoOf = (query: URLSearchParams, proof: string): Html | undefined => {
  const change = /^\d{1,15}$/.exec(query.get("change") ?? "")?.[0]
  if (change === undefined) return undefined
  return html`<form class="inline" method="post" action="/activity/_undo">${proofField(proof)}<input type="hidden" name="change" value="${change}"><button type="submit">Undo</button></form>`
}

/** How many rows a form changed, as the address says on which it ends, with a button that takes its `change` back. */
export const doneNotice = (query: URLSearchParams, proof: string): Html | undefined => {
  const kind = kinds.find((one) => /^\d{1,6}$/.test(query.get(one) ?? ""))
  if (kind === undefined) return undefined
  const undo = undoOf(query, proof)
  return html`${plural(Number(query.get(kind)), "row")} ${kind}.${undo && html` ${undo}`}`
}
