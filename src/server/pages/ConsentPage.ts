import type { Access } from "../../domain/Connection.ts"
import { clientName } from "./ClientName.ts"
import { escapeHtml } from "./Html.ts"
import { messagePage } from "./MessagePage.ts"
import { page } from "./Page.ts"

/** What the form holds of the decision, to be read, or shown again where nothing can be made of it. */
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
  /** The host, such as `claude.ai` or `127.0.0.1:57470`, or the scheme, such as `cursor://…`, that gets the answer. */
  readonly returnsTo: string
  readonly email: string
  readonly tables: ReadonlyArray<string>
  readonly fault?: string
  /** What was chosen before a fault. */
  readonly chosen?: ConsentChoice
}

const choices: ReadonlyArray<readonly [access: Access, name: string, meaning: string]> = [
  ["full", "Everything", "Read, save, change and delete rows in all your tables, also in those that come later."],
  ["read", "Read only", "Read all your tables. It can save, change and delete nothing."],
  ["tables", "Only these tables", "Read, save, change and delete rows in them. Your other tables stay hidden from it."]
]

const place = (text: string): string => `<strong class="place"><bdi>${escapeHtml(text.toWellFormed())}</bdi></strong>`

const isLoopback = (returnsTo: string): boolean => /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/i.test(returnsTo)
const isScheme = (returnsTo: string): boolean => /^[a-z][a-z0-9+.-]*:(?!\d+$)/i.test(returnsTo)

const returns = (returnsTo: string): string => {
  if (isLoopback(returnsTo)) return `${place(returnsTo)}, a program on this device`
  if (isScheme(returnsTo)) return `the app on this device that opens ${place(returnsTo)}`
  return `${place(returnsTo)}<br><span class="muted">Allow it only if you trust this site.</span>`
}

const facts = ({ client, email, returnsTo }: ConsentInput): string => {
  const { documentHost } = client
  return `<dl class="consent-facts">
${documentHost === undefined ? "" : `<div><dt>Described by</dt><dd>a document at ${place(documentHost)}</dd></div>`}
<div><dt>Returns to</dt><dd>${returns(returnsTo)}</dd></div>
<div><dt>Your account</dt><dd><strong>${escapeHtml(email)}</strong></dd></div>
</dl>`
}

const caution = ({ client, returnsTo }: ConsentInput): string =>
  client.isLoopbackOnly || isLoopback(returnsTo) || isScheme(returnsTo)
    ? `<p class="note caution" role="note"><strong>This is a program on this device.</strong>
Any program here could use that name. Allow it only if you have just started to connect it yourself.</p>`
    : ""

const tableChoice = (tables: ReadonlyArray<string>, chosen: ConsentChoice, describedBy: string): string => {
  const checked = new Set(chosen.tables)
  const boxes = [...new Set([...tables, ...checked])].map(
    (name) =>
      `<label><input type="checkbox" name="table" value="${escapeHtml(name)}"${checked.has(name) ? " checked" : ""}><code>${escapeHtml(name)}</code></label>`
  )
  const list =
    boxes.length === 0 ? "<p>You have no tables yet.</p>" : `<div class="table-boxes">${boxes.join("\n")}</div>`
  return `<div class="table-choice" role="group" aria-labelledby="access-tables-name">
${list}
<label class="field" for="other-tables">${boxes.length === 0 ? "Tables it may create" : "Other tables it may create"}
<input id="other-tables" name="other_tables" value="${escapeHtml(chosen.otherTables)}" autocomplete="off" autocapitalize="none" spellcheck="false" aria-describedby="${describedBy}other-tables-help"></label>
<p class="muted small" id="other-tables-help">Names, separated by commas or spaces: <code>notes, recipes</code></p>
</div>`
}

const accessChoice = ({ chosen, fault, tables }: ConsentInput): string => {
  const selected = chosen ?? { access: "full", tables: [], otherTables: "" }
  const options = choices.map(([access, name, meaning]) => {
    const state = access === selected.access ? ` checked${fault === undefined ? "" : " autofocus"}` : ""
    return `<label class="choice"><input type="radio" name="access" value="${access}" aria-labelledby="access-${access}-name" aria-describedby="access-${access}"${state}>
<span><strong id="access-${access}-name">${name}</strong><span class="muted" id="access-${access}">${meaning}</span></span></label>`
  })
  const isFaulty = fault !== undefined
  return `<fieldset class="choices"${isFaulty ? ' aria-describedby="consent-fault"' : ""}>
<legend>What may it do?</legend>
${isFaulty ? `<p class="fault" id="consent-fault" role="alert">${escapeHtml(fault)}</p>` : ""}
${options.join("\n")}
${tableChoice(tables, selected, isFaulty ? "consent-fault " : "")}
</fieldset>`
}

/** Asks a person whether a client may use their account, and for what. */
export const consentPage = (input: ConsentInput): string =>
  page({
    title: "Allow an app to use your Agent Memory?",
    robots: "noindex",
    main: `<main class="narrow consent">
<h1>${clientName(input.client.name)} wants to use your Agent Memory</h1>
<p class="muted">That is what the app calls itself. Nobody has checked it.</p>
${facts(input)}
${caution(input)}
<form method="post" action="/authorize?${escapeHtml(input.query)}">
<input type="hidden" name="proof" value="${escapeHtml(input.proof)}">
${accessChoice(input)}
<div class="decision">
<button type="submit" name="decision" value="allow">Allow</button>
<button type="submit" name="decision" value="deny">Deny</button>
</div>
</form>
<p class="muted small">You can end this at any time at <a href="/connections">Connected apps</a>.</p>
</main>`
  })

/** Says why an app can't be connected, where there is no address that the answer may be sent to. */
export const authorizeErrorPage = (input: {
  readonly title: string
  readonly detail: string
  readonly advice: string
}): string =>
  messagePage({
    title: input.title,
    heading: escapeHtml(input.title),
    body: `<p class="lead">${escapeHtml(input.advice)}</p>
<p>Nothing was allowed, and the app was told nothing.</p>
<p class="muted small developer-detail">For the app’s developer: ${escapeHtml(input.detail)}</p>`
  })

/** Says why an app can't be connected, and lets the person decide whether to tell it: the link leads there. */
export const returnErrorPage = (input: {
  readonly returnsTo: string
  readonly href: string
  readonly detail: string
}): string =>
  messagePage({
    title: "This app can't be connected",
    heading: "This app can’t be connected",
    body: `<p class="lead">Its request has a fault, so nothing was allowed. You can close this page.</p>
<p>The app returns to ${place(input.returnsTo)}. Only if you know that place and were connecting it:
<a href="${escapeHtml(input.href)}" rel="noreferrer">go back and tell it</a>.</p>
<p class="muted small developer-detail">For the app’s developer: ${escapeHtml(input.detail)}</p>`
  })
