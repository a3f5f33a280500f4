import { codeBlock } from "../CodeBlock.ts"

const askForKey = (baseUrl: string, localMode: boolean): string =>
  `${localMode ? "sed 's/^/X-Local-Secret: /' data/local-secret |\n  " : ""}curl '${baseUrl}/auth/magic-link' ${localMode ? "-H @- " : ""}\\\n  -H 'Content-Type: application/json' \\\n  -d '{"email":"you@example.com"}'`

const printedMail = `<p class="small muted">This service runs for its own machine and sends no mail: it prints mails in the terminal that it was started in. Open the address that it printed there, which ends with <code>/?local=</code> and a secret, and the key is made on this page.</p>
`

/**
 * The start with real requests. Its script takes over `#try`; without scripts the same calls stand there to copy. In local
 * mode the card says where mails are, and how a browser is shown them.
 */
export const startCard = (
  baseUrl: string,
  localMode: boolean
): string => `<div class="start card" id="start" tabindex="-1">
<h2>Store your first row</h2>
<noscript>
<p>These lines do it in a terminal. ${localMode ? "With the start secret from the service's folder, the answer holds a link to your key." : "The mail holds a link to your key."}</p>
${codeBlock("1. Ask for a key", askForKey(baseUrl, localMode))}
${codeBlock("2. Add a row", `curl '${baseUrl}/v1/notes' \\\n  -H 'Authorization: Bearer svc_live_…' \\\n  -H 'Content-Type: application/json' \\\n  -d '{"text":"hello"}'`)}
</noscript>
<div id="try"${localMode ? " data-local" : ""} hidden>
<form id="ask">
<label for="email">Your e-mail address</label>
<div class="field-row"><input id="email" name="email" type="email" autocomplete="email" required placeholder="you@example.com" aria-describedby="ask-hint"><button class="primary">Mail me a key</button></div>
<p class="small muted" id="ask-hint">One link by mail, no password. Have a key? <button class="link" type="button" id="have-key">Paste it</button></p>
${localMode ? printedMail : ""}</form>
<form id="use" hidden>
<label for="key">Your API key</label>
<div class="field-row"><input id="key" name="key" autocomplete="off" autocapitalize="none" spellcheck="false" required pattern="\\s*svc_live_[a-z0-9]+_[A-Za-z0-9]+\\s*" placeholder="svc_live_…" title="A key begins with svc_live_" aria-describedby="use-hint"><button class="primary">Use this key</button></div>
<p class="small muted" id="use-hint">Stays in the memory of this page and is gone when you close it.</p>
</form>
<form id="add" hidden>
<label for="row">A row for the table <code>notes</code></label>
<textarea id="row" name="row" rows="2" spellcheck="false">{"text":"Ada drinks her coffee black"}</textarea>
<div class="actions"><button class="primary" id="add-row">Add the row</button><button type="button" id="query-rows">Query the table</button><button type="button" id="edit-row" disabled>Open it in the editor</button><button type="button" id="copy-key">Copy my key</button></div>
</form>
<div class="terminal" id="terminal" role="log" aria-label="Requests and answers" tabindex="0"><p class="muted">Requests and answers appear here.</p></div>
</div>
</div>`
