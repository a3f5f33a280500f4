import type { Settings } from "../config/Settings.ts"
import { clientName } from "./ConsentPage.ts"
import { codeBlock, html, type Html, type HtmlValue } from "../doors/Html.ts"
import { messagePage, minutesText, narrowPage } from "./Page.ts"

const signIn = (title: string, body: Html, heading: HtmlValue = title): Html =>
  narrowPage(title, html`<h1>${heading}</h1>\n${body}`, ["account.css"])

const tokenForm = (token: string, button: Html, method: "post" | "get" = "post"): Html =>
  html`<form class="actions" method="${method}" action="/sign-in">
<input type="hidden" name="token" value="${token}">
${button}
</form>`

/** The page that a mailed link opens. Showing it spends nothing: only its button does. */
export const signInPage = (input: { readonly token: string; readonly email?: string }): Html =>
  signIn(
    "Get your API key",
    html`<p class="lead">This creates a new API key for ${input.email === undefined ? "your account" : html`<strong>${input.email}</strong>`}. Your agents and programs use it to store and read rows.</p>
${tokenForm(input.token, html`<button class="primary" type="submit">Show my new API key</button>`)}
<p class="muted">The link works once. Keys you already have stay valid.</p>`
  )

/** The page of a mailed link of a sign-in that began in a browser. Its button signs in the browser that shows it. */
export const browserLinkPage = (input: {
  readonly token: string
  readonly email: string
  readonly isAsking: boolean
}): Html => {
  const { isAsking, token } = input
  const email = html`<strong>${input.email}</strong>`
  return isAsking
    ? signIn(
        "Continue signing in",
        html`<p class="lead">You started to sign in here as ${email}.</p>
${tokenForm(token, html`<button class="primary" type="submit">Continue</button>`)}
<p class="muted">The link works once. Using it also ends the code in the same mail.</p>`
      )
    : signIn(
        "This sign-in started in another browser",
        html`<p class="lead">To continue there as ${email}, enter the 6-digit code from the mail on the page you left open.</p>
<p class="warning">Did someone ask you for the code or this link? Share neither: anyone with the code is signed in as you.</p>
<h2>Sign in here instead</h2>
<p>This signs in the browser you are using now. The code stops working, so the other browser
has to start again.</p>
${tokenForm(token, html`<button type="submit">Sign in here</button>`)}`,
        html`This <span class="unbroken">sign-in</span> started in another browser`
      )
}

const addRow = (base: string, key: string): string => `curl '${base}/v1/notes' \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"text":"hello"}'`

const readRows = (base: string, key: string): string => `curl '${base}/v1/notes' \\
  -H 'Authorization: Bearer ${key}'`

/** The page that shows a new key, this once. */
export const signedInPage = (input: { readonly apiKey: string; readonly baseUrl: string }): Html =>
  signIn(
    "Your API key",
    html`<p class="warning">Copy the key now. It is shown only once and stored nowhere.</p>
<div class="key-field">
<label class="visually-hidden" for="api-key">Your new API key</label>
<input id="api-key" data-copy readonly autocomplete="off" spellcheck="false" value="${input.apiKey}">
</div>
<h2>Try it</h2>
${codeBlock("Add a row", addRow(input.baseUrl, input.apiKey))}
${codeBlock("Read it back", readRows(input.baseUrl, input.apiKey))}
<h2>Connect an agent</h2>
<p>Agents need only the MCP address below, not the key. They open your browser to sign in.
<a href="/install">Setup for each client</a>.</p>
${codeBlock("MCP address", `${input.baseUrl}/mcp`)}
<h2>Where to keep the key</h2>
<ul>
<li>In a server's environment or a secret store, for example as <code>AGENT_MEMORY_API_KEY</code>.</li>
<li>Never in a web page, an app that others install, or a repository. Anyone with the key has full access to the account.</li>
<li>Create one named key per application and environment, so that you can revoke each one separately.</li>
</ul>
<p>Next: <a href="/docs">see what the API offers</a>.</p>`,
    "Your new API key"
  )

const askAgain = (base: string): string => `curl '${base}/auth/magic-link' \\
  -H 'Content-Type: application/json' \\
  -d '{"email":"you@example.com"}'`

/** The one page for every link that opens nothing: used, expired or unknown. */
export const signInFailedPage = (input: { readonly baseUrl: string }): Html =>
  signIn(
    "This link has expired",
    html`<p class="lead">A sign-in link works once, and only for a few minutes. <a href="/sign-in">Request a new one</a>, or run:</p>
${codeBlock("Request a new link", askAgain(input.baseUrl))}
<p>Were you connecting an agent? Go back to the page where you started and request another mail there.</p>
<p class="muted">If you just used this link to get a key, the key was shown on that page. Keys you already have stay valid.</p>`,
    "This link has expired or was used already"
  )

/** The page of a link that a newer mail replaced. */
export const linkReplacedPage = (): Html =>
  messagePage(
    "There is a newer link",
    html`<p class="lead">Another mail was sent to your address after this one, and only the newest link works. Open the link in that mail. It may still be on its way.</p>
<p>No other mail? <a href="/sign-in">Request a new link</a>, or go back to the page where you started.</p>`
  )

/** The page of an address whose token was cut off, or is something else. */
export const notATokenPage = (): Html =>
  messagePage(
    "Not a sign-in link",
    html`<p class="lead">The text after <code>token=</code> is not a sign-in token: a token has 43 letters, digits, - or _. Mail programs sometimes cut long links. Copy the whole link from the mail, or <a href="/sign-in">request a new one</a>.</p>`,
    "This is not a sign-in link"
  )

/** The link may be good, but can't be checked at the moment. Nothing was spent. */
export const signInLaterPage = (input: { readonly token: string; readonly reason: "busy" | "unavailable" }): Html =>
  messagePage(
    input.reason === "busy" ? "Too many sign-ins from your network" : "Service unavailable",
    html`<p class="lead">${
      input.reason === "busy"
        ? "Wait a moment, then try again."
        : "The service can't reach its database. This usually takes only a few seconds."
    } Your link stays valid until it is used.</p>
${tokenForm(input.token, html`<button class="primary" type="submit">Try again</button>`, "get")}`
  )

const leadOf = (client: EmailPage["client"], returnTo: string): Html => {
  if (client !== undefined) {
    return html`<p class="lead">${clientName(client.name)} wants to use your Agent Memory. Sign in first. You choose on the next page what it may do.</p>
<p class="muted">It continues at <code>${client.returnsTo}</code>.</p>`
  }
  return returnTo.startsWith("/authorize?")
    ? html`<p class="lead">Sign in to connect your agent. You choose on the next page what it may do.</p>`
    : html`<p class="lead">Sign in to see and change what your agents remember.</p>`
}

const signUpHint = (signUp: Settings["Service"]["signUp"]): string => {
  if (signUp === "open") return "If you are new here, this creates your account."
  return signUp === "closed"
    ? "New accounts can’t be created here."
    : `New accounts require an address at ${signUp.join(", ")}.`
}

interface EmailPage {
  readonly returnTo: string
  readonly settings: Pick<Settings["Service"], "localMode" | "signUp">
  readonly client?: { readonly name: string; readonly returnsTo: string }
  readonly email?: string
  readonly fault?: string
}

/** A field's fault, and the attributes that connect the field with its fault and its hint. */
const faultOf = (id: string, fault: string | undefined) => ({
  line: fault !== undefined && html`<p class="form-fault" id="${id}-fault" role="alert">${fault}</p>`,
  attributes:
    fault === undefined
      ? html` aria-describedby="${id}-hint"`
      : html` aria-describedby="${id}-fault ${id}-hint" aria-invalid="true"`
})

/** The first page of a sign-in in the browser: asks for the address to send a code to. */
export const emailPage = ({ client, email = "", fault, returnTo, settings }: EmailPage): Html => {
  const { attributes, line } = faultOf("email", fault)
  return signIn(
    "Sign in",
    html`${leadOf(client, returnTo)}
<form method="post" action="/sign-in/email">
<input type="hidden" name="return_to" value="${returnTo}">
<div class="form-field">
<label for="email">Email address</label>
<input id="email" name="email" type="email" autocomplete="email" maxlength="254" required autofocus value="${email}"${attributes}>
${line}<p class="small muted" id="email-hint">${
      settings.localMode
        ? "This service sends no mail: it prints a 6-digit code in its terminal, or shows it on the next page. There is no password."
        : "We email you a 6-digit code and a link. Either signs you in. There is no password."
    } ${signUpHint(settings.signUp)}</p>
</div>
<button class="primary" type="submit">Get a code</button>
</form>`
  )
}

interface CodePage {
  readonly email: string
  readonly returnTo: string
  readonly minutes: number
  readonly fault?: string | undefined
  /** What the mail contains, shown only to the person who started a service in local mode. */
  readonly mailed?: { readonly code: string; readonly url: string } | undefined
  /** Whether the mail is printed in the service's terminal. */
  readonly isPrinted?: boolean
  /** Too many wrong codes were entered for the address, so that codes are not checked. */
  readonly isLinkOnly?: boolean
}

const again = ({ email, returnTo }: CodePage, label: HtmlValue, style?: "primary"): Html =>
  html`<form class="actions" method="post" action="/sign-in/email">
<input type="hidden" name="return_to" value="${returnTo}">
<input type="hidden" name="email" value="${email}">
<button${style && html` class="${style}"`} type="submit">${label}</button>
</form>`

const mailedHere = ({ mailed }: CodePage) =>
  mailed &&
  html`<aside class="local-mail">
<p>This service runs for this machine only and sends no mail. The mail would contain:</p>
<p>Code: <code>${mailed.code}</code></p>
<p>Link: <a href="${mailed.url}">${mailed.url}</a></p>
</aside>
`

const printedHere = html`<h2>Where to find the code</h2>
<p>This service runs for its own machine and sends no mail: it prints the mail, with the code and a link, in the terminal
where it was started. To see codes on this page instead, open the address that the service printed at startup in this
browser. It ends with <code>/?local=</code> and a secret.</p>
`

const codeLead = ({ email, isPrinted = false, mailed }: CodePage): Html => {
  const to = html`<strong>${email}</strong>`
  if (mailed !== undefined) return html`The 6-digit code for ${to} is shown below.`
  return isPrinted
    ? html`The 6-digit code for ${to} is in the terminal of this service.`
    : html`We sent a 6-digit code to ${to}.`
}

/** The page where the mailed code is entered. */
export const codePage = (input: CodePage): Html => {
  const { fault, isLinkOnly, isPrinted = false, mailed, minutes, returnTo } = input
  if (isLinkOnly === true) return linkOnlyPage(input)
  const { attributes, line } = faultOf("sign-in-code", fault)
  return signIn(
    "Enter the code",
    html`<p class="lead">${codeLead(input)}</p>
${mailedHere(input)}<form method="post" action="/sign-in/code">
<div class="form-field">
<label for="sign-in-code">6-digit code</label>
<input id="sign-in-code" class="code-input" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[\\s\\-]*(?:[0-9][\\s\\-]*){6}" title="Six digits" spellcheck="false" required autofocus${attributes}>
${line}<p class="small muted" id="sign-in-code-hint">The code works for ${minutesText(minutes)}, in this browser only. If you got several mails, use the newest.</p>
</div>
<button class="primary" type="submit">Sign in</button>
</form>
${
  mailed === undefined && !isPrinted
    ? html`<h2>No mail?</h2>
<p>Wait a minute and check your spam folder.</p>
${again(input, "Send another mail")}`
    : html`${mailed === undefined ? printedHere : html`<h2>Code expired?</h2>\n`}${again(input, "Get a new code")}`
}
<p><a href="${returnTo}">Use another address</a></p>`
  )
}

const linkOnlyPage = (input: CodePage): Html =>
  signIn(
    "Open the link in the mail",
    html`<p class="lead">Too many wrong codes were entered for <strong>${input.email}</strong> today, so codes are not accepted. The link in the same mail still works: open it in this browser.</p>
<p class="note">If that wasn't you: no one was signed in by those codes. Never give codes or links to anyone who asks for them.</p>
${mailedHere(input)}${again(input, "Send another mail")}
<p><a href="${input.returnTo}">Use another address</a></p>`
  )

/** The page of a sign-in whose code no longer works: it was used, mistyped too often, replaced, or expired. */
export const codeExpiredPage = (input: CodePage & { readonly isReplaced?: boolean }): Html =>
  signIn(
    "This code has expired",
    html`<p class="lead">${
      input.isReplaced === true
        ? html`A newer mail was sent to ${input.email}. Use that one: the code and link in this mail no longer work.`
        : `A code works once, for ${minutesText(input.minutes)}. After 5 wrong tries it expires, together with the link in its mail.`
    }</p>
${again(input, html`Send a new code to ${input.email}`, "primary")}
<p><a href="${input.returnTo}">Continue</a> if you have just signed in, or to use another address.</p>`
  )
