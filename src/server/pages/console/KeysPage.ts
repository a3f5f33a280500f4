import type { ApiKey, CreatedApiKey } from "../../../domain/Key.ts"
import { codeBlock, html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { clientName } from "../ConsentPage.ts"
import { accountPage, fault, notice, proofField, question, timeHtml } from "./Frame.ts"

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
