import type { Connection } from "../../domain/Connection.ts"
import { clientName } from "./ClientName.ts"
import { codeBlock } from "./CodeBlock.ts"
import { escapeHtml } from "./Html.ts"
import { page } from "./Page.ts"

const utc = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" })

const time = (timestamp: string): string =>
  `<time datetime="${escapeHtml(timestamp)}">${utc.format(Date.parse(timestamp))} UTC</time>`

const access = ({ access, tables }: Connection): string => {
  switch (access) {
    case "full":
      return "Everything, in all tables"
    case "read":
      return "Read only, all tables"
    case "tables":
      return `Only ${(tables ?? []).map((name) => `<code>${escapeHtml(name)}</code>`).join(", ")}`
  }
}

const connection =
  (proof: string) =>
  (item: Connection): string => {
    const name = clientName(item.client_name)
    return `<li class="card connection">
<div>
<h2>${name}</h2>
<dl>
<div><dt>May do</dt><dd>${access(item)}</dd></div>
<div><dt>Connected</dt><dd>${time(item.created_at)}</dd></div>
<div><dt>Last used</dt><dd>${item.last_used_at === null ? "Never" : time(item.last_used_at)}</dd></div>
</dl>
</div>
<form method="post" action="/connections">
<input type="hidden" name="proof" value="${escapeHtml(proof)}">
<input type="hidden" name="id" value="${escapeHtml(item.id)}">
<button type="submit">Disconnect<span class="visually-hidden"> ${name}</span></button>
</form>
</li>`
  }

const none = (
  baseUrl: string
): string => `<p>No app is connected. Give your agent this address, and sign in when it opens your browser.
<a href="/install">Set-up for each client</a>.</p>
${codeBlock("MCP address", `${baseUrl}/mcp`)}`

/** The apps that an account let in, each with a button that ends that. */
export const connectionsPage = (input: {
  readonly email: string
  readonly connections: ReadonlyArray<Connection>
  /** Of both forms: disconnecting and signing out. */
  readonly proof: string
  readonly baseUrl: string
  /** Says what became of a disconnection. */
  readonly disconnected?: string
}): string => {
  const { baseUrl, connections, disconnected, email, proof } = input
  const list = `<ul class="connections">
${connections.map(connection(proof)).join("\n")}
</ul>
<p class="muted">Disconnecting an app refuses its next call and ends the links it made. What it stored stays. It can ask to be let in again.</p>`
  return page({
    title: "Connected apps",
    robots: "noindex",
    main: `<main class="narrow">
<h1>Connected apps</h1>
<p class="lead">The apps that may use the Agent Memory of <strong>${escapeHtml(email)}</strong>.</p>
${disconnected === undefined ? "" : `<p class="note" role="status">${escapeHtml(disconnected)}</p>`}
${connections.length === 0 ? none(baseUrl) : list}
<form class="sign-out" method="post" action="/sign-out">
<input type="hidden" name="proof" value="${escapeHtml(proof)}">
<span>Signed in as ${escapeHtml(email)} in this browser.</span>
<button type="submit">Sign out</button>
<button type="submit" name="everywhere" value="1">Sign out of all browsers</button>
</form>
</main>`
  })
}
