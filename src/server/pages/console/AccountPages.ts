import { numberText, sizeText } from "../../../domain/Amounts.ts"
import type { Limits } from "../../../domain/Limits.ts"
import type { BrowserSession } from "../../accounts/browser/Sessions.ts"
import { html, type Html, codeBlock, type HtmlValue } from "../../doors/Html.ts"
import type { Totals } from "../../tables/Tables.ts"
import { accountPage, fault, notice, proofField, question, timeHtml, bar, bytesText } from "./Frame.ts"
import type { ApiKey, CreatedApiKey } from "../../../domain/Key.ts"
import { clientName, accessChoice, type ConsentChoice } from "../ConsentPage.ts"
import type { Connection } from "../../../domain/Actor.ts"

const session = ({ createdAt, isThis, lastUsedAt }: BrowserSession): Html =>
  html`<li>${isThis && html`<strong>This browser</strong>, `}signed in ${timeHtml(createdAt.toISOString())}, last used ${timeHtml(lastUsedAt.toISOString())}</li>\n`

/** Who the person is, what the account uses, and where it is signed in. */
export const settingsPage = (input: {
  readonly email: string
  readonly totals: Totals
  readonly limits: Limits
  readonly sessions: ReadonlyArray<BrowserSession>
  readonly proof: string
  readonly result?: string | undefined
  /** Why the account was not deleted. */
  readonly problem?: string | undefined
}): Html => {
  const { email, limits, problem, proof, result, sessions, totals } = input
  const others = sessions.filter(({ isThis }) => !isThis).length
  return accountPage({
    title: "Account",
    current: "/account",
    main: html`<h1>Account</h1>
<p class="lead">You are signed in as <strong>${email}</strong>.</p>
${notice(result)}
<form class="actions" method="post" action="/sign-out">
${proofField(proof)}
<button type="submit">Sign out</button>
</form>
<h2>Usage</h2>
${bar("Tables", totals.tables, limits.tables, numberText)}
${bar("Storage", totals.storage_bytes, limits.storageBytes, bytesText)}
${bar("Storage of versions", totals.version_bytes, limits.versionStorageBytes, bytesText)}
<p class="muted small">When the storage of versions is full, the oldest versions are removed. A table can have ${numberText(limits.rowsPerTable)} rows, and a row ${sizeText(limits.rowBytes)}.</p>
<h2>Browsers signed in</h2>
<ul>
${sessions.map(session)}</ul>
${
  others > 0 &&
  question({
    button: "Sign out all others",
    text: "Sign out all other browsers? Whoever uses them has to sign in again. API keys and connected apps stay.",
    form: html`<form method="post" action="/sign-out">
${proofField(proof)}
<button type="submit" name="others" value="1">Sign out all others</button>
</form>`
  })
}
<h2>Your data</h2>
<p>Everything that your agents stored, as one JSON file. <a href="/tables/_import">Import</a> takes it back.</p>
<p class="actions"><a class="button" href="/tables/_export" download>Export all</a></p>
<h2>Delete the account</h2>
<p>All tables, rows, versions, keys, connected apps and links go at once, and nothing can be brought back.</p>
<details class="question"${problem !== undefined && " open"}><summary class="button">Delete the account</summary>
<form class="card" method="post" action="/account/_delete">
${proofField(proof)}${fault(problem, "delete-fault")}
<div class="form-field"><label for="delete-email">Type ${email} to confirm</label><input id="delete-email" name="email" type="email" required autocomplete="off"></div>
<button class="danger" type="submit">Delete everything</button>
</form></details>`
  })
}

const when = (timestamp: string | null): Html => (timestamp === null ? html`Never` : timeHtml(timestamp))

const activeKey = ({ created_at, id, last_used_at, name, prefix }: ApiKey, proof: string): Html =>
  html`<li class="card connection"><div><h2>${clientName(name)}</h2><dl>
<div><dt>Begins with</dt><dd><code>${prefix}…</code></dd></div>
<div><dt>Created</dt><dd>${when(created_at)}</dd></div>
<div><dt>Last used</dt><dd>${when(last_used_at)}</dd></div>
</dl></div>
${question({
  button: html`Revoke<span class="visually-hidden"> ${clientName(name)}</span>`,
  text: html`Revoke ${clientName(name)}? Programs that use it are refused at once, and the links it made expire. This can't be taken back.`,
  form: html`<form method="post" action="/keys/_revoke">${proofField(proof)}<input type="hidden" name="id" value="${id}"><button class="danger" type="submit">Revoke ${clientName(name)}</button></form>`
})}</li>\n`

/** The API keys of an account, and the form for a new one. */
export const keysPage = (input: {
  readonly keys: ReadonlyArray<ApiKey>
  readonly proof: string
  readonly result?: HtmlValue
  /** What was typed as a name, and what is wrong with it. */
  readonly typed?: { readonly name: string; readonly problem: string } | undefined
}): Html => {
  const { keys, proof, result, typed } = input
  const active = keys.filter(({ revoked_at }) => revoked_at === null).toReversed()
  const revoked = keys.filter(({ revoked_at }) => revoked_at !== null).toReversed()
  return accountPage({
    title: "API keys",
    current: "/keys",
    main: html`<h1>API keys</h1>
<p class="lead">Programs use a key to reach your tables over REST. Agents that connect over MCP need none.</p>
${notice(result)}
<form class="card" method="post" action="/keys">
${proofField(proof)}${fault(typed?.problem, "key-fault")}
<div class="form-field"><label for="key-name">Name of a new key</label><input id="key-name" name="name" value="${typed?.name ?? ""}" required maxlength="80" placeholder="shop, production" autocomplete="off"${typed && html` aria-describedby="key-fault" aria-invalid="true"`}></div>
<button class="primary" type="submit">Create a key</button>
</form>
<h2>Active keys</h2>
${active.length === 0 ? html`<p>There is none.</p>` : html`<ul class="connections">${active.map((key) => activeKey(key, proof))}</ul>`}
${
  revoked.length > 0 &&
  html`<details><summary>Revoked keys</summary><ul>${revoked.map(({ name, prefix, revoked_at }) => html`<li>${clientName(name)} <code>${prefix}…</code>, revoked ${when(revoked_at)}</li>`)}</ul></details>`
}`
  })
}

/** Shows a new key, this once. */
export const newKeyPage = ({ api_key, name }: CreatedApiKey, baseUrl: string): Html =>
  accountPage({
    title: "Your new API key",
    current: "/keys",
    main: html`<h1>The key ${clientName(name)}</h1>
<p class="warning">Copy the key now. It is shown only once and stored nowhere.</p>
<div class="key-field"><label class="visually-hidden" for="api-key">Your new API key</label><input id="api-key" data-copy readonly autocomplete="off" spellcheck="false" value="${api_key}"></div>
${codeBlock(".env", `AGENT_MEMORY_API_KEY=${api_key}`)}
${codeBlock("Add a row", `curl '${baseUrl}/v1/notes' \\\n  -H "Authorization: Bearer $AGENT_MEMORY_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '{"text":"hello"}'`)}
<ul>
<li>Keep it in a server’s environment or a secret store, never in a web page, an app that others install, or a repository.</li>
<li>Give each program its own key, so that you can revoke each one separately.</li>
</ul>
<p><a class="button" href="/keys">I have copied it</a></p>`
  })

const access = ({ access, tables }: Connection): Html => {
  switch (access) {
    case "full":
      return html`Everything, in all tables`
    case "read":
      return html`Read only, all tables`
    case "tables":
      return html`Only ${(tables ?? []).map((name, index) => html`${index > 0 && ", "}<code>${name}</code>`)}`
  }
}

/** Apps name themselves, so several may have one name: then each is numbered in the order in which they were connected. */
const numbered = (connections: ReadonlyArray<Connection>): ReadonlyArray<readonly [Connection, Html]> => {
  const counts = new Map<string, number>()
  return connections.map((item) => {
    const nth = (counts.get(item.client_name) ?? 0) + 1
    counts.set(item.client_name, nth)
    const isOne = connections.every((other) => other === item || other.client_name !== item.client_name)
    return [item, isOne ? clientName(item.client_name) : html`${clientName(item.client_name)} ${nth}`]
  })
}

const connection = (item: Connection, name: Html, proof: string): Html => html`<li class="card connection">
<div>
<h2>${name}</h2>
<dl>
<div><dt>Access</dt><dd>${access(item)}</dd></div>
<div><dt>Connected</dt><dd>${timeHtml(item.created_at)}</dd></div>
<div><dt>Last used</dt><dd>${item.last_used_at === null ? "Never" : timeHtml(item.last_used_at)}</dd></div>
</dl>
<p class="small"><a href="/apps/${item.id}">Change name or access</a> · <a href="/activity?by=${item.id}">What it changed</a></p>
</div>
${question({
  button: html`Disconnect<span class="visually-hidden"> ${name}</span>`,
  text: html`Disconnect ${name}? Its next call is refused, and the links it made expire. The data it stored stays.`,
  form: html`<form method="post" action="/apps">
${proofField(proof)}
<input type="hidden" name="id" value="${item.id}">
<button class="danger" type="submit">Disconnect ${name}</button>
</form>`
})}
</li>\n`

const none = (baseUrl: string): Html =>
  html`<p>No apps are connected. Give your agent this address, and sign in when it opens your browser.
<a href="/install">Setup for each client</a>.</p>
${codeBlock("MCP address", `${baseUrl}/mcp`)}`

/** The apps that may use an account, each with a button that disconnects it. */
export const appsPage = (input: {
  readonly email: string
  readonly connections: ReadonlyArray<Connection>
  readonly proof: string
  readonly baseUrl: string
  /** The result of a disconnection. */
  readonly disconnected?: string | undefined
}): Html => {
  const { baseUrl, connections, disconnected, email, proof } = input
  return accountPage({
    title: "Connected apps",
    current: "/apps",
    main: html`<h1>Connected apps</h1>
<p class="lead">These apps can use the Agent Memory of <strong>${email}</strong>.</p>
${notice(disconnected)}
${
  connections.length === 0
    ? none(baseUrl)
    : html`<ul class="connections">
${numbered(connections).map(([item, name]) => connection(item, name, proof))}</ul>
<p class="muted">A disconnected app can ask for access again. <a href="/install">Connect another app</a>.</p>`
}`
  })
}

/** What a person calls an app at most, in characters. */
export const longestAppName = 80

/** A connected app: what its person calls it, and what it may do. */
export const appPage = (input: {
  readonly app: Connection
  readonly tables: ReadonlyArray<string>
  readonly proof: string
  readonly typed?: { readonly name: string; readonly chosen: ConsentChoice; readonly problem: string } | undefined
}): Html => {
  const { app, proof, tables, typed } = input
  const chosen = typed?.chosen ?? { access: app.access, tables: app.tables ?? [], otherTables: "" }
  return accountPage({
    title: "Change an app",
    current: "/apps",
    main: html`<p class="crumbs"><a href="/apps">Connected apps</a></p>
<h1>${clientName(app.client_name)}</h1>
${fault(typed?.problem)}
<form class="card" method="post" action="/apps/${app.id}">
${proofField(proof)}
<div class="form-field"><label for="app-name">Name</label><input id="app-name" name="name" value="${typed?.name ?? app.client_name}" required maxlength="${longestAppName}" autocomplete="off"><p class="small muted">To tell apps apart. The activity shows this name from now on.</p></div>
${accessChoice({ tables, chosen })}
<div class="actions"><button class="primary" type="submit">Save</button><a class="button" href="/apps">Cancel</a></div>
<p class="small muted">Its next call goes by this. Links that it made before stay until they expire.</p>
</form>`
  })
}
