import { html, type Html } from "../doors/Html.ts"
import type { Mail } from "../mail/Mailer.ts"

/** The address that a mailed link opens: a page whose button spends the token. */
export const signInUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/sign-in?token=${encodeURIComponent(token)}`

/** The mail to an address without an account that may not get one, so that its owner does not wait for a link. */
export const noAccountMail = (input: { readonly to: string; readonly baseUrl: string }): Mail => {
  const host = new URL(input.baseUrl).host
  const text = [
    `Someone, hopefully you, asked for a sign-in link to Agent Memory at ${host}.`,
    "This address has no account and cannot create one. If it should have one, contact the operator of the service.",
    "If you did not ask for this, ignore this email."
  ]
  return {
    to: input.to,
    subject: "No account at Agent Memory",
    text: `${text.join("\n\n")}\n`,
    html: String(
      html`<!doctype html><html lang="en"><body>\n${text.map((line) => html`<p>${line}</p>\n`)}</body></html>`
    )
  }
}

/** The mail with a sign-in link, and with a code for a sign-in that began in a browser. */
export const signInMail = (input: {
  readonly to: string
  readonly baseUrl: string
  readonly token: string
  readonly minutes: number
  readonly code?: string | undefined
}): Mail => {
  const url = signInUrl(input.baseUrl, input.token)
  const host = new URL(input.baseUrl).host
  const life = input.minutes === 1 ? "1 minute" : `${input.minutes} minutes`
  const ask = `Someone, hopefully you, asked for a sign-in link to Agent Memory at ${host}.`
  const code = input.code
  const use =
    code === undefined
      ? `The link works once, for ${life}. It opens a page with a button that gives you a new API key.`
      : `The link works once, for ${life}. It opens a page with a button that signs in the browser it is opened in.`
  const typed = "To continue in the browser where you began, type this code there instead:"
  const warning =
    `Type the code only into the page that you opened yourself at ${host}, and do not share it: ` +
    "anyone who has it can sign in as you."
  const ignore = "If you did not ask for this, ignore this email: nothing happens without the link."
  const ignoreBoth = "If you did not ask for this, ignore this email: nothing happens without the link or the code."

  const text =
    [ask, url, use, ...(code === undefined ? [ignore] : [typed, code, warning, ignoreBoth])].join("\n\n") + "\n"
  const paragraph = (content: Html | string) => html`<p style="margin:0 0 16px">${content}</p>\n`
  const button = html`<a href="${url}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1a5f4a;color:#ffffff;text-decoration:none;font-weight:600">Sign in to Agent Memory</a>`
  const page = html`<!doctype html><html lang="en"><body style="margin:0;padding:24px;background:#fbfaf8;color:#1d1c19;font:16px/1.55 system-ui,-apple-system,'Segoe UI',sans-serif"><div style="max-width:34em">
${[ask, button, use].map(paragraph)}${
    code !== undefined && [
      paragraph(typed),
      paragraph(html`<strong style="font:600 24px/1.2 ui-monospace,monospace">${code}</strong>`),
      paragraph(warning)
    ]
  }${paragraph(html`<span style="color:#6a675f">${code === undefined ? ignore : ignoreBoth}</span>`)}</div></body></html>`

  return { to: input.to, subject: "Your sign-in link for Agent Memory", text, html: String(page) }
}
