import { codeBlock } from "./CodeBlock.ts"
import { escapeHtml } from "./Html.ts"
import { page } from "./Page.ts"

const signIn = (title: string, main: string): string =>
  page({ title, robots: "noindex", main: `<main class="narrow">${main}</main>` })

/** The page that a mailed link opens. Showing it spends nothing: only its button does. */
export const signInPage = (input: { readonly token: string; readonly email?: string }): string => {
  const account = input.email === undefined ? "your account" : `<strong>${escapeHtml(input.email)}</strong>`
  return signIn(
    "Get your API key",
    `<h1>Get your API key</h1>
<p class="lead">This makes a new API key for ${account}. Your agents and programs use it to store and read rows.</p>
<form class="actions" method="post" action="/sign-in">
<input type="hidden" name="token" value="${escapeHtml(input.token)}">
<button class="primary" type="submit">Show my new API key</button>
</form>
<p class="muted">The link works once. Keys you already have stay valid.</p>`
  )
}

/** The page of a mailed link of a sign-in that began in a browser. Its button signs in the browser that shows it. */
export const browserLinkPage = (input: {
  readonly token: string
  readonly email: string
  readonly isAsking: boolean
}): string => {
  const email = `<strong>${escapeHtml(input.email)}</strong>`
  const button = (label: string, kind: string) => `<form class="actions" method="post" action="/sign-in">
<input type="hidden" name="token" value="${escapeHtml(input.token)}">
<button${kind} type="submit">${label}</button>
</form>`
  return input.isAsking
    ? signIn(
        "Continue the sign-in",
        `<h1>Continue the sign-in</h1>
<p class="lead">You began to sign in here as ${email}.</p>
${button("Continue", ' class="primary"')}
<p class="muted">The link works once, and ends its mail's code.</p>`
      )
    : signIn(
        "The sign-in began in another browser",
        `<h1>The <span class="whole">sign-in</span> began in another browser</h1>
<p class="lead">To go on there as ${email}, type the 6-digit code from the mail into the page you left open.</p>
<p class="warning">Did somebody ask you for the code or this link? Give them neither: whoever has the code is signed in as you.</p>
<h2>Sign in here instead</h2>
<p>This signs in the browser you are looking at, and shows your connections. It ends the code, so that the other browser
has to begin again.</p>
${button("Sign in here", "")}`
      )
}

const addRow = (base: string, key: string): string => `curl '${base}/v1/notes' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"text":"hello"}'`

const readRows = (base: string, key: string): string => `curl '${base}/v1/notes' \\
  -H 'Authorization: Bearer ${key}'`

/** The page that shows a new key, this once. */
export const signedInPage = (input: { readonly apiKey: string; readonly baseUrl: string }): string =>
  signIn(
    "Your API key",
    `<h1>Your new API key</h1>
<p class="once">Shown once. Copy it now: it is kept nowhere and can't be shown again.</p>
<div class="key-field">
<label class="visually-hidden" for="api-key">Your new API key</label>
<input id="api-key" data-copy readonly autocomplete="off" spellcheck="false" value="${escapeHtml(input.apiKey)}">
</div>
<h2>Try it</h2>
${codeBlock("Add a row", addRow(input.baseUrl, input.apiKey))}
${codeBlock("Read it back", readRows(input.baseUrl, input.apiKey))}
<h2>Give it to an agent</h2>
<p>Agents connect to the MCP address below and sign in by themselves in your browser: they need the address, not the key.
<a href="/install">Set-up for each client</a>.</p>
${codeBlock("MCP address", `${input.baseUrl}/mcp`)}
<h2>Where to keep the key</h2>
<ul>
<li>In a server's settings or a secret store, for example as <code>AGENT_MEMORY_API_KEY</code>.</li>
<li>Never in a web page, an app that others install, or a repository: whoever has the key has the whole account.</li>
<li>Make one named key for every application and environment, so that each can be revoked alone.</li>
</ul>
<p>Next: <a href="/docs">what the API offers</a>.</p>`
  )

const askAgain = (base: string): string => `curl '${base}/auth/magic-link' \\
  -H 'Content-Type: application/json' \\
  -d '{"email":"you@example.com"}'`

/** One page for every link that opens nothing: spent, expired or unknown. */
export const signInFailedPage = (input: { readonly baseUrl: string }): string =>
  signIn(
    "This link is over",
    `<h1>This link is spent or expired</h1>
<p class="lead">A sign-in link works once, and only for a few minutes. <a href="/#start">Ask for a new one</a>, or type:</p>
${codeBlock("Ask for a new link", askAgain(input.baseUrl))}
<p>Were you connecting an agent? Go back to the page where you began and ask for another mail there.</p>
<p class="muted">If you have just used this link for a key, it was shown on that page. Keys you already have stay valid.</p>`
  )

/** The page of a link that a newer mail's replaced, as when the older mail comes late. */
export const linkReplacedPage = (): string =>
  signIn(
    "A newer link was mailed",
    `<h1>A newer link was mailed</h1>
<p class="lead">Another mail was sent to your address after this one, and only the newest link works. Open the link in that mail; it may still be on its way.</p>
<p>None came? <a href="/#start">Ask for a new one</a>, or go back to the page where you began.</p>`
  )

/** The page of an address whose token was cut off, or is something else. */
export const notATokenPage = (): string =>
  signIn(
    "Not a sign-in link",
    `<h1>This is not a sign-in link</h1>
<p class="lead">What follows <code>token=</code> is not a sign-in token: it has 43 letters, digits, - or _. Mail programs sometimes cut long links. Copy the whole link out of the mail, or <a href="/#start">ask for a new one</a>.</p>`
  )

/** The link may be good, but not at the moment: nothing was spent. */
export const signInLaterPage = (input: { readonly token: string; readonly reason: "busy" | "unavailable" }): string =>
  signIn(
    "Try again in a moment",
    `<h1>${input.reason === "busy" ? "Too many sign-ins from here" : "The service is not ready"}</h1>
<p class="lead">${
      input.reason === "busy"
        ? "Somebody on your network signs in very often, so we ask you to wait a little."
        : "It can't reach its database at the moment. This is usually over within seconds."
    } Your link stays good until it has been used.</p>
<form class="actions" method="get" action="/sign-in">
<input type="hidden" name="token" value="${escapeHtml(input.token)}">
<button class="primary" type="submit">Try again</button>
</form>`
  )
