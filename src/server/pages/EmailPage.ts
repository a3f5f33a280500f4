import type { Settings } from "../Config.ts"
import { clientName } from "./ClientName.ts"
import { escapeHtml } from "./Html.ts"
import { page } from "./Page.ts"

const lead = (client: { readonly name: string; readonly returnsTo: string } | undefined, returnTo: string): string => {
  if (client !== undefined) {
    return `<p class="lead">${clientName(client.name)} asks to use your Agent Memory. Sign in first; what it may do, you decide on the next page.</p>
<p class="muted">From there it goes on at <code>${escapeHtml(client.returnsTo)}</code>.</p>`
  }
  return returnTo === "/connections"
    ? '<p class="lead">Sign in to see which agents are connected to your memory, and to disconnect them.</p>'
    : '<p class="lead">Sign in to connect your agent. What it may do, you decide on the next page.</p>'
}

const signUpHint = (signUp: Settings["Service"]["signUp"]): string => {
  if (signUp === "open") return "The first sign-in makes your account."
  return signUp === "closed"
    ? "New accounts can’t be made here."
    : `New accounts are for addresses at ${signUp.map(escapeHtml).join(", ")}.`
}

/** The first page of a sign-in in the browser: asks for the address to mail a code to. */
export const emailPage = (input: {
  readonly returnTo: string
  readonly signUp: Settings["Service"]["signUp"]
  readonly client?: { readonly name: string; readonly returnsTo: string }
  readonly email?: string
  readonly fault?: string
}): string => {
  const { client, email = "", fault, returnTo, signUp } = input
  const refused = fault === undefined ? "" : `<p class="fault" id="email-fault" role="alert">${escapeHtml(fault)}</p>\n`
  const described = fault === undefined ? "email-hint" : "email-fault email-hint"
  return page({
    title: "Sign in",
    robots: "noindex",
    main: `<main class="narrow"><h1>Sign in</h1>
${lead(client, returnTo)}
<form method="post" action="/sign-in/email">
<input type="hidden" name="return_to" value="${escapeHtml(returnTo)}">
<div class="field">
<label for="email">Your e-mail address</label>
<input id="email" name="email" type="email" autocomplete="email" maxlength="254" required autofocus value="${escapeHtml(email)}" aria-describedby="${described}"${fault === undefined ? "" : ' aria-invalid="true"'}>
${refused}<p class="small muted" id="email-hint">We mail you a 6-digit code; there is no password. ${signUpHint(signUp)}</p>
</div>
<button class="primary" type="submit">Mail me a code</button>
</form></main>`
  })
}
