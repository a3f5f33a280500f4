import { createHash } from "node:crypto"
import { escapeHtml } from "./Html.ts"

const style = `
:root { color-scheme: light dark; --page: #fbfaf8; --surface: #ffffff; --raised: #f3f1ec; --ink: #1d1c19;
  --muted: #6a675f; --line: #dedad1; --accent: #1a5f4a; --on-accent: #ffffff; --warning: #8a5a00 }
@media (prefers-color-scheme: dark) { :root { --page: #141412; --surface: #1c1c19; --raised: #262622; --ink: #eceae4;
  --muted: #a09c92; --line: #3a3832; --accent: #6cc7a6; --on-accent: #10211b; --warning: #e3b15a } }
* { box-sizing: border-box }
body { margin: 0; padding: 24px 16px 48px; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", sans-serif }
main { max-width: 44rem; margin: 6vh auto 0; padding: 24px; background: var(--surface); border: 1px solid var(--line);
  border-radius: 8px }
h1 { margin: 0 0 8px; font-size: 1.5625rem; line-height: 1.25; font-weight: 600 }
h2 { margin: 32px 0 8px; font-size: 1.25rem; line-height: 1.3; font-weight: 600 }
p, ul { margin: 0 0 16px; max-width: 68ch }
ul { padding-left: 20px }
.name { max-width: 44rem; margin: 0 auto; color: var(--muted) }
.muted { color: var(--muted) }
.once { color: var(--warning); font-weight: 600 }
a { color: var(--accent) }
strong { overflow-wrap: anywhere }
button { width: 100%; padding: 12px 20px; border: 0; border-radius: 8px; background: var(--accent);
  color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer }
code, pre { font: 14px/1.55 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace }
pre { margin: 0 0 16px; padding: 12px; background: var(--raised); border: 1px solid var(--line); border-radius: 8px;
  white-space: pre-wrap; overflow-wrap: anywhere; user-select: all }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
@media (min-width: 480px) { button { width: auto } main { padding: 32px } }
`

const styleHash = createHash("sha256").update(style).digest("base64")

/** What the pages must be sent with: no scripts, no other origin, no copy kept, no address passed on. */
export const signInPageHeaders: Readonly<Record<string, string>> = {
  "content-type": "text/html; charset=utf-8",
  "content-security-policy":
    `default-src 'none'; style-src 'sha256-${styleHash}'; ` +
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin"
}

const page = (title: string, main: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${escapeHtml(title)} – Agent Memory</title>
<style>${style}</style>
</head>
<body>
<p class="name">Agent Memory</p>
<main>
${main}
</main>
</body>
</html>
`

/** The page that a mailed link opens. Showing it spends nothing: only its button does. */
export const signInPage = (input: { readonly token: string; readonly email?: string }): string => {
  const account = input.email === undefined ? "your account" : `<strong>${escapeHtml(input.email)}</strong>`
  return page(
    "Get your API key",
    `<h1>Get your API key</h1>
<p>This makes a new API key for ${account}. Your agents and programs use it to store and read rows.</p>
<form method="post" action="/sign-in">
<input type="hidden" name="token" value="${escapeHtml(input.token)}">
<button type="submit">Show my new API key</button>
</form>
<p class="muted">The link works once. Keys you already have stay valid.</p>`
  )
}

/** The page that shows a new key, this once. */
export const signedInPage = (input: { readonly apiKey: string; readonly baseUrl: string }): string => {
  const key = escapeHtml(input.apiKey)
  const base = escapeHtml(input.baseUrl)
  return page(
    "Your API key",
    `<h1>Your new API key</h1>
<p class="once">Shown once. Copy it now: it is kept nowhere and can't be shown again.</p>
<pre>${key}</pre>
<h2>Try it</h2>
<p>Add a row, then read it back:</p>
<pre>curl '${base}/v1/notes' -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{"text":"hello"}'</pre>
<pre>curl '${base}/v1/notes' -H 'Authorization: Bearer ${key}'</pre>
<h2>Where to keep it</h2>
<ul>
<li>In a server's settings or a secret store, for example as <code>AGENT_MEMORY_API_KEY</code>.</li>
<li>Never in a web page, an app that others install, or a repository: whoever has the key has the whole account.</li>
<li>Make one named key for every application and environment, so that each can be revoked alone.</li>
</ul>
<p>Next: <a href="${base}/openapi.json">what the API offers</a>.</p>`
  )
}

/** One page for every link that can't be used: spent, expired, unknown or cut off by the mail program. */
export const signInFailedPage = (input: { readonly baseUrl: string }): string => {
  const base = escapeHtml(input.baseUrl)
  return page(
    "This link is over",
    `<h1>This link is spent or expired</h1>
<p>A sign-in link works once, and only for a few minutes. Ask for a new one:</p>
<pre>curl ${base}/auth/magic-link -H 'Content-Type: application/json' -d '{"email":"you@example.com"}'</pre>
<p class="muted">If you have just used this link, the key was shown on that page. Keys you already have stay valid.</p>`
  )
}
