import { escapeHtml } from "./Html.ts"
import { page } from "./Page.ts"

/** Asks for another mail to the same address. */
const again = (email: string, returnTo: string, label: string, kind: "primary" | "plain"): string =>
  `<form class="actions" method="post" action="/sign-in/email">
<input type="hidden" name="return_to" value="${escapeHtml(returnTo)}">
<input type="hidden" name="email" value="${escapeHtml(email)}">
<button${kind === "primary" ? ' class="primary"' : ""} type="submit">${label}</button>
</form>`

const mailedHere = ({ code, url }: { readonly code: string; readonly url: string }): string =>
  `<aside class="local-mail">
<p>This service sends no mail, as it runs for this machine alone. The mail would hold:</p>
<p>Code: <code>${escapeHtml(code)}</code></p>
<p>Link: <a href="${escapeHtml(url)}">${escapeHtml(url)}</a></p>
</aside>
`

/** How whoever started a service in local mode comes by a code that is not shown to this browser. */
const printedHere = `<h2>Where the code is</h2>
<p>This service runs for its own machine and sends no mail: it prints the mail, with the code and a link, in the terminal
that it was started in. To see codes on this page instead, open the address in this browser that the service printed when
it started. It ends with <code>/?local=</code> and a secret.</p>
`

/**
 * The page that the mailed code is typed into. `mailed` is shown only to the person who started a service in local mode;
 * `isPrinted` says that the mail goes to the terminal.
 */
export const codePage = (input: {
  readonly email: string
  readonly returnTo: string
  readonly minutes: number
  readonly fault?: string | undefined
  readonly mailed?: { readonly code: string; readonly url: string } | undefined
  readonly isPrinted?: boolean
  /** Too many wrong codes were typed for the address, so that none is looked at. */
  readonly isLinkOnly?: boolean
}): string => {
  const { email, fault, isLinkOnly = false, isPrinted = false, mailed, minutes, returnTo } = input
  if (isLinkOnly) return linkOnlyPage(input)
  const refused =
    fault === undefined ? "" : `<p class="fault" id="sign-in-code-fault" role="alert">${escapeHtml(fault)}</p>\n`
  const described = fault === undefined ? "sign-in-code-hint" : "sign-in-code-fault sign-in-code-hint"
  const life = minutes === 1 ? "1 minute" : `${minutes} minutes`
  const to = `<strong>${escapeHtml(email)}</strong>`
  return page({
    title: "Type the code from the mail",
    robots: "noindex",
    main: `<main class="narrow"><h1>Type the code from the mail</h1>
<p class="lead">${mailed === undefined ? (isPrinted ? `The 6-digit code for ${to} is in the terminal of this service.` : `A mail with a 6-digit code is on its way to ${to}.`) : `The 6-digit code for ${to} is shown here.`}</p>
${mailed === undefined ? "" : mailedHere(mailed)}<form method="post" action="/sign-in/code">
<div class="field">
<label for="sign-in-code">6-digit code</label>
<input id="sign-in-code" class="code-input" name="code" inputmode="numeric" autocomplete="one-time-code" pattern="[\\s\\-]*(?:[0-9][\\s\\-]*){6}" title="Six digits" spellcheck="false" required autofocus aria-describedby="${described}"${fault === undefined ? "" : ' aria-invalid="true"'}>
${refused}<p class="small muted" id="sign-in-code-hint">It works for ${life}, in this browser only. If several mails came, the code of the newest counts.</p>
</div>
<button class="primary" type="submit">Sign in</button>
</form>
${
  mailed === undefined && !isPrinted
    ? `<h2>No mail?</h2>
<p>Give it a minute and look among the spam.</p>
${again(email, returnTo, "Send another mail", "plain")}`
    : `${mailed === undefined ? printedHere : "<h2>Too late?</h2>\n"}${again(email, returnTo, "Make a new code", "plain")}`
}
<p><a href="${escapeHtml(returnTo)}">Use another address</a></p></main>`
  })
}

const linkOnlyPage = ({
  email,
  mailed,
  returnTo
}: {
  readonly email: string
  readonly mailed?: { readonly code: string; readonly url: string } | undefined
  readonly returnTo: string
}): string =>
  page({
    title: "Open the link in the mail",
    robots: "noindex",
    main: `<main class="narrow"><h1>Open the link in the mail</h1>
<p class="lead">Too many wrong codes were typed for <strong>${escapeHtml(email)}</strong> today, so codes are not accepted. The link in the same mail works: open it in this browser.</p>
<p class="note">Was it not you who typed them? Nobody was signed in by them. Give neither codes nor links to anybody who asks.</p>
${mailed === undefined ? "" : mailedHere(mailed)}${again(email, returnTo, "Send another mail", "plain")}
<p><a href="${escapeHtml(returnTo)}">Use another address</a></p></main>`
  })

/** The page of a sign-in that no code can finish any more: it was finished, mistyped too often, replaced, or is too old. */
export const codeOverPage = (input: {
  readonly email: string
  readonly returnTo: string
  readonly minutes: number
  readonly isReplaced?: boolean
}): string =>
  page({
    title: "This code is over",
    robots: "noindex",
    main: `<main class="narrow"><h1>This code is over</h1>
<p class="lead">${input.isReplaced === true ? `A newer mail was sent to ${escapeHtml(input.email)}. Its link works; this mail's code and link have ended.` : `A code works once, for ${input.minutes === 1 ? "1 minute" : `${input.minutes} minutes`}, and ends with its mail's link after 5 wrong tries.`}</p>
${again(input.email, input.returnTo, `Mail a new code to ${escapeHtml(input.email)}`, "primary")}
<p><a href="${escapeHtml(input.returnTo)}">Go on</a> if you have just signed in, or to use another address.</p></main>`
  })
