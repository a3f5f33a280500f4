import type { Connection } from "../../../domain/Actor.ts"
import { codeBlock, html, type Html } from "../../doors/Html.ts"
import { clientName } from "../ConsentPage.ts"
import { accountPage, notice, proofField, question, timeHtml } from "./Frame.ts"

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
