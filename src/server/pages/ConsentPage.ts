import { Result, Schema } from "effect"
import type { Grant, Access } from "../../domain/Actor.ts"
import { TableName } from "../../domain/Query.ts"
import { html, type Html } from "../doors/Html.ts"
import { messagePage, narrowPage } from "./Page.ts"

const isTableName: (text: string) => boolean = Schema.is(TableName)
const maxTables = 100

/** Reads the choice; a form that says nothing of how much it allows means the tables that it names, and no more. */
export const choiceOf = (form: URLSearchParams): ConsentChoice => {
  const access = form.get("access")
  return {
    access: access === "full" || access === "read" ? access : "tables",
    tables: form.getAll("table"),
    otherTables: form.get("other_tables") ?? ""
  }
}

/** The grant that a choice makes, or why it makes none, in words for the person. */
export const grantOf = (choice: ConsentChoice): Result.Result<Grant, string> => {
  if (choice.access !== "tables") return Result.succeed({ access: choice.access, tables: null })
  const others = choice.otherTables.split(/[\s,;]+/).filter((name) => name !== "")
  const tables = [...new Set([...choice.tables, ...others])].toSorted()
  const wrong = tables.find((name) => !isTableName(name))
  if (wrong !== undefined) {
    return Result.fail(`“${wrong.slice(0, 70)}” can't be a table: a name is a letter, then letters, digits, _ or -.`)
  }
  if (tables.length === 0) return Result.fail("Choose at least one table, or another kind of access.")
  if (tables.length > maxTables)
    return Result.fail(`Choose at most ${maxTables} tables, or give access to all of them.`)
  return Result.succeed({ access: "tables", tables })
}

/** What the form says of the decision: to be read, or shown again where nothing can be made of it. */
export interface ConsentChoice {
  readonly access: Access
  readonly tables: ReadonlyArray<string>
  /** Names of further tables as they were typed. */
  readonly otherTables: string
}

export interface ConsentInput {
  /** The query of the `/authorize` request. */
  readonly query: string
  readonly proof: string
  /** `documentHost` is the host whose document describes the client, if one does. */
  readonly client: { readonly name: string; readonly documentHost?: string; readonly isLoopbackOnly: boolean }
  /** The host, such as `claude.ai` or `127.0.0.1:57470`, or the scheme, such as `cursor://…`, that gets the result. */
  readonly returnsTo: string
  readonly email: string
  readonly tables: ReadonlyArray<string>
  readonly fault?: string
  /** What was chosen before a fault. */
  readonly chosen?: ConsentChoice
}

const maxName = 80

/** Control characters, and those without a shape that change the direction or the look of the text around them. */
const unseen = /[\p{Cc}\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0]+/gu

/**
 * The name that an app gives itself, in quotes. An app may want to pass for another one: its name can't close the quotes,
 * turn the text around it, cover it with accents, or push it out of sight.
 */
export const clientName = (name: string): Html => {
  const plain = name
    .toWellFormed()
    .replaceAll(unseen, " ")
    .replaceAll(/["«»“”„‟〝〞＂]/g, "'")
    .replaceAll(/(\p{M}{3})\p{M}+/gu, "$1")
    .replaceAll(/\s+/g, " ")
    .trim()
  if (plain === "") return html`An app without a name`
  const characters = [...plain]
  const shown = characters.length > maxName ? `${characters.slice(0, maxName).join("").trimEnd()}…` : plain
  return html`<span class="client-name">“<bdi>${shown}</bdi>”</span>`
}

const choices: ReadonlyArray<readonly [access: Access, name: string, meaning: string]> = [
  ["full", "Everything", "Read, save, change and delete rows in all your tables, including tables created later."],
  ["read", "Read only", "Read all your tables. It can't save, change or delete anything."],
  ["tables", "Only these tables", "Read, save, change and delete rows in them. Your other tables stay hidden from it."]
]

const destination = (text: string): Html => html`<strong class="destination"><bdi>${text}</bdi></strong>`

const isLoopback = (returnsTo: string): boolean => /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(returnsTo)
const isScheme = (returnsTo: string): boolean => /^[a-z][a-z0-9+.-]*:(?!\d+$)/i.test(returnsTo)

const returns = (returnsTo: string): Html => {
  if (isLoopback(returnsTo)) return html`${destination(returnsTo)}, a program on this device`
  if (isScheme(returnsTo)) return html`the app on this device that opens ${destination(returnsTo)}`
  return html`${destination(returnsTo)}<br><span class="muted">Allow it only if you trust this site.</span>`
}

const facts = ({ client: { documentHost }, email, returnsTo }: ConsentInput): Html => html`<dl class="consent-facts">
${documentHost !== undefined && html`<div><dt>Described by</dt><dd>a document at ${destination(documentHost)}</dd></div>`}
<div><dt>Returns to</dt><dd>${returns(returnsTo)}</dd></div>
<div><dt>Your account</dt><dd><strong>${email}</strong></dd></div>
</dl>`

const caution = ({ client, returnsTo }: ConsentInput) =>
  (client.isLoopbackOnly || isLoopback(returnsTo) || isScheme(returnsTo)) &&
  html`<p class="note caution" role="note"><strong>This is a program on this device.</strong>
Any program here could use that name. Allow it only if you have just started to connect it yourself.</p>`

const tableChoice = (tables: ReadonlyArray<string>, chosen: ConsentChoice, isFaulty: boolean): Html => {
  const checked = new Set(chosen.tables)
  const names = [...new Set([...tables, ...checked])]
  const boxes = names.map(
    (name) =>
      html`<label><input type="checkbox" name="table" value="${name}"${checked.has(name) && " checked"}><code>${name}</code></label>\n`
  )
  const isEmpty = names.length === 0
  return html`<div class="table-choice" role="group" aria-labelledby="access-tables-name">
${isEmpty ? html`<p>You have no tables yet.</p>` : html`<div class="table-boxes">${boxes}</div>`}
<label class="form-field" for="other-tables">${isEmpty ? "Tables it may create" : "Other tables it may create"}
<input id="other-tables" name="other_tables" value="${chosen.otherTables}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="${isFaulty && "consent-fault "}other-tables-help"></label>
<p class="muted small" id="other-tables-help">Names, separated by commas or spaces: <code>notes, recipes</code></p>
</div>`
}

/** Asks what an app may do, and with which tables. */
export const accessChoice = ({ chosen, fault, tables }: Pick<ConsentInput, "chosen" | "fault" | "tables">): Html => {
  const selected = chosen ?? { access: "full", tables: [], otherTables: "" }
  const isFaulty = fault !== undefined
  const options = choices.map(([access, name, meaning]) => {
    const state = access === selected.access && ` checked${isFaulty ? " autofocus" : ""}`
    return html`<label class="access-choice"><input type="radio" name="access" value="${access}" aria-labelledby="access-${access}-name" aria-describedby="access-${access}"${state}>
<span><strong id="access-${access}-name">${name}</strong><span class="muted" id="access-${access}">${meaning}</span></span></label>\n`
  })
  return html`<fieldset class="access-choices"${isFaulty && html` aria-describedby="consent-fault"`}>
<legend>What may it do?</legend>
${isFaulty && html`<p class="form-fault" id="consent-fault" role="alert">${fault}</p>`}
${options}${tableChoice(tables, selected, isFaulty)}
</fieldset>`
}

/** Asks a person whether a client may use their account, and for what. */
export const consentPage = (input: ConsentInput): Html =>
  narrowPage(
    "Allow an app to use your Agent Memory?",
    html`<h1>${clientName(input.client.name)} wants to use your Agent Memory</h1>
<p class="muted">This is what the app calls itself. The name has not been verified.</p>
${facts(input)}
${caution(input)}
<form method="post" action="/authorize?${input.query}">
<input type="hidden" name="proof" value="${input.proof}">
${accessChoice(input)}
<div class="decision">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Deny</button>
</div>
</form>
<p class="muted small">You can revoke this at any time on <a href="/apps">Connected apps</a>.</p>`,
    ["account.css"]
  )

const developerDetail = (detail: string): Html =>
  html`<p class="muted small developer-detail">For the app’s developer: ${detail}</p>`

/** Says why an app can't be connected, where there is no address that the result may be sent to. */
export const authorizeErrorPage = (input: {
  readonly title: string
  readonly detail: string
  readonly advice: string
}): Html =>
  messagePage(
    input.title,
    html`<p class="lead">${input.advice}</p>
<p>Nothing was allowed, and nothing was shared with the app.</p>
${developerDetail(input.detail)}`
  )

/** Says why an app can't be connected, and lets the person decide whether to tell the app, by a link. */
export const returnErrorPage = (input: {
  readonly returnsTo: string
  readonly href: string
  readonly detail: string
}): Html =>
  messagePage(
    "This app can’t be connected",
    html`<p class="lead">Its request is invalid, so nothing was allowed. You can close this page.</p>
<p>The app returns to ${destination(input.returnsTo)}. If you recognize it and were connecting the app,
<a href="${input.href}" rel="noreferrer">return to it and report the error</a>.</p>
${developerDetail(input.detail)}`
  )
