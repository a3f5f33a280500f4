import { escapeHtml } from "../pages/Html.ts"
import type { Mail } from "../mail/Mailer.ts"

/** The address that a mailed link opens: a page whose button spends the token. */
export const signInUrl = (baseUrl: string, token: string): string =>
  `${baseUrl}/sign-in?token=${encodeURIComponent(token)}`

/** Writes the mail to an address that has no account and may have none, so that its owner need not wait for a link. */
export const noAccountMail = (input: { readonly to: string; readonly baseUrl: string }): Mail => {
  const host = new URL(input.baseUrl).host
  const text = [
    `Somebody, hopefully you, asked for a sign-in link to Agent Memory at ${host}.`,
    "There is no account for this address, and new accounts are not open to it. If you should have one, ask whoever runs the service.",
    "If you did not ask for this, ignore this mail."
  ]
  const html = text.map((line) => `<p>${escapeHtml(line)}</p>`).join("\n")
  return {
    to: input.to,
    subject: "No account at Agent Memory",
    text: `${text.join("\n\n")}\n`,
    html: `<!doctype html><html lang="en"><body>\n${html}\n</body></html>`
  }
}

/** Writes the mail that holds a sign-in link, and a code for a sign-in that began in a browser. */
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
  const ask = `Somebody, hopefully you, asked for a sign-in link to Agent Memory at ${host}.`
  const code = input.code
  const use =
    code === undefined
      ? `The link works once, for ${life}. It opens a page with a button that gives you a new API key.`
      : `The link works once, for ${life}. It opens a page with a button that signs in the browser it is opened in.`
  const typed = "To go on in the browser where you began, type this code there instead:"
  const warning =
    `Type the code only into the page that you opened yourself at ${host}, and give it to nobody: ` +
    "whoever has it is signed in as you."
  const ignore = "If you did not ask for this, ignore this mail: nothing happens without the link."
  const ignoreBoth = "If you did not ask for this, ignore this mail: nothing happens without the link or the code."

  const text =
    [ask, url, use, ...(code === undefined ? [ignore] : [typed, code, warning, ignoreBoth])].join("\n\n") + "\n"
  const paragraph = (content: string) => `<p style="margin:0 0 16px">${content}</p>`
  const html = [
    '<!doctype html><html lang="en"><body style="margin:0;padding:24px;background:#fbfaf8;color:#1d1c19;' +
      'font:16px/1.55 system-ui,-apple-system,\'Segoe UI\',sans-serif"><div style="max-width:34em">',
    paragraph(escapeHtml(ask)),
    paragraph(
      `<a href="${escapeHtml(url)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1a5f4a;` +
        'color:#ffffff;text-decoration:none;font-weight:600">Sign in to Agent Memory</a>'
    ),
    paragraph(escapeHtml(use)),
    ...(code === undefined
      ? []
      : [
          paragraph(escapeHtml(typed)),
          paragraph(`<strong style="font:600 24px/1.2 ui-monospace,monospace">${escapeHtml(code)}</strong>`),
          paragraph(escapeHtml(warning))
        ]),
    paragraph(`<span style="color:#6a675f">${escapeHtml(code === undefined ? ignore : ignoreBoth)}</span>`),
    "</div></body></html>"
  ].join("\n")

  return { to: input.to, subject: "Your sign-in link for Agent Memory", text, html }
}
