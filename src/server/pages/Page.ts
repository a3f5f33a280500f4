import { asset } from "./Assets.ts"
import { html, type Html, type HtmlValue } from "../doors/Html.ts"

export interface PageContent {
  /** What the page is, in a few words; the product's name is added. */
  readonly title: string
  /** One sentence for search engines and link previews. */
  readonly description?: string
  /** The whole `<main …>…</main>` element. */
  readonly main: Html
  /** Style sheets beside `site.css`: `["grid.css"]`. */
  readonly styles?: ReadonlyArray<string>
  /** Scripts beside `site.js`: `["grid.js"]`. */
  readonly scripts?: ReadonlyArray<string>
  /** The nonce of the page's Content-Security-Policy. Scripts find it as `nonce` of their own element. */
  readonly nonce?: string
  /** Whether search engines may list the page; pages that hold or open something private may not. */
  readonly robots: "index" | "noindex"
  /** The address of the page in the navigation, if it is there. */
  readonly current?: string
  /** Whether the header is the one of somebody who is signed in. */
  readonly isSignedIn?: boolean
}

type Links = ReadonlyArray<readonly [path: string, name: string]>

const signedOutLinks: Links = [
  ["/docs", "Docs"],
  ["/install", "Connect"],
  ["/sign-in", "Sign in"]
]

const signedInLinks: Links = [
  ["/tables", "Tables"],
  ["/activity", "Activity"],
  ["/apps", "Apps"],
  ["/keys", "Keys"],
  ["/docs", "Docs"],
  ["/account", "Account"]
]

const footer: Links = [
  ["/docs", "Documentation"],
  ["/docs/errors", "Errors"],
  ["/docs/configuration", "Configuration"],
  ["/docs/deployment", "Deployment"],
  ["/docs/security", "Security"],
  ["/install", "Install"],
  ["/how-to-use", "How to use"],
  ["/apps", "Connected apps"],
  ["/openapi.json", "OpenAPI"],
  ["/llms.txt", "llms.txt"]
]

const links = (items: Links, current: string | undefined): ReadonlyArray<Html> =>
  items.map(
    ([path, name]) => html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${name}</a></li>`
  )

const navigation = (isSignedIn: boolean, current: string | undefined): Html =>
  html`<nav aria-label="Site"><ul>${links(isSignedIn ? signedInLinks : signedOutLinks, current)}</ul></nav>`

/** A page that is the same for everyone, with the header of somebody who is signed in. */
export const withSignedInHeader = (page: string): string =>
  page.replace(/<nav aria-label="Site">.*?<\/nav>/s, (shown) =>
    String(navigation(true, /href="([^"]*)" aria-current/.exec(shown)?.[1]))
  )

const mark = html`<svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false"><rect x="1" y="2" width="18" height="4" rx="1.5"/><rect x="1" y="8" width="18" height="4" rx="1.5" opacity=".62"/><rect x="1" y="14" width="11" height="4" rx="1.5" opacity=".34"/></svg>`

/** A whole HTML page in the layout that all pages share. */
export const page = (content: PageContent): Html => {
  const { current, description, isSignedIn = false, main, nonce, robots, scripts = [], styles = [], title } = content
  const nonceAttribute = nonce !== undefined && html` nonce="${nonce}"`
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#fbfaf8" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#141412" media="(prefers-color-scheme: dark)">
${robots === "noindex" && html`<meta name="robots" content="noindex, nofollow">`}
<title>${current === "/" ? title : `${title} · Agent Memory`}</title>
${description !== undefined && html`<meta name="description" content="${description}">`}
<link rel="icon" href="/favicon.ico" type="image/svg+xml">
${["site.css", ...styles].map((name) => html`<link rel="stylesheet" href="${asset(name)}">\n`)}
${["site.js", ...scripts].map((name) => html`<script type="module" src="${asset(name)}"${nonceAttribute}></script>\n`)}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="site-header"><div class="site-bar">
<a class="brand" href="/">${mark}<span>Agent Memory</span></a>
${navigation(isSignedIn, current)}
</div></header>
<div id="content" tabindex="-1">
${main}
</div>
<footer class="site-footer"><div class="site-bar">
<nav aria-label="All pages"><ul>${links(footer, undefined)}</ul></nav>
<p>Everything stored here is data. It is never run, applied or followed as an instruction.</p>
</div></footer>
</body>
</html>
`
}

/**
 * What keeps a page from running or loading anything that is not the service's own. `formAction` is where its forms, and
 * what those redirect to, may lead.
 */
export const contentSecurityPolicy = (
  options: { readonly nonce?: string | undefined; readonly formAction?: ReadonlyArray<string> } = {}
): string => {
  const { formAction = ["'self'"], nonce } = options
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self'${nonce === undefined ? "" : ` 'nonce-${nonce}'`}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    `form-action ${[...new Set(formAction)].join(" ")}`,
    "base-uri 'none'",
    "frame-ancestors 'none'"
  ].join("; ")
}

const everyPage: Readonly<Record<string, string>> = {
  "content-security-policy": contentSecurityPolicy(),
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "cross-origin-opener-policy": "same-origin"
}

/** The headers of pages that are the same for everyone. */
export const publicPageHeaders: Readonly<Record<string, string>> = {
  ...everyPage,
  "cache-control": "public, max-age=60",
  "referrer-policy": "strict-origin-when-cross-origin"
}

/** The headers of pages that show or open something private: not cached, not indexed, and no referrer. */
export const privatePageHeaders: Readonly<Record<string, string>> = {
  ...everyPage,
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow"
}

/** A narrow page that search engines may not list, as everything is that belongs to one person. */
export const narrowPage = (title: string, main: HtmlValue, styles: ReadonlyArray<string> = []): Html =>
  page({ title, robots: "noindex", styles, main: html`<main class="narrow">${main}</main>` })

/** A page that says one thing and what to do about it. The heading is the title, unless it is given. */
export const messagePage = (title: string, body: Html, heading: HtmlValue = title): Html =>
  narrowPage(title, html`<h1>${heading}</h1>\n${body}`)

/** `1 minute`, `5 minutes`. */
export const minutesText = (minutes: number): string => (minutes === 1 ? "1 minute" : `${minutes} minutes`)

/** `1 second`, `5 seconds`. */
export const secondsText = (seconds: number): string => (seconds === 1 ? "1 second" : `${seconds} seconds`)

const signIn = html`<a href="/sign-in">sign in</a>`

/** The page while the database can't be reached. */
export const unavailablePage = (href: string): Html =>
  messagePage(
    "Service unavailable",
    html`<p class="lead">The service can't reach its database. This usually takes only a few seconds.</p>
<p class="actions"><a class="button primary" href="${href}">Try again</a></p>`
  )

/** The page for a browser without a sign-in in progress. */
export const noSignInPage = (): Html =>
  messagePage(
    "Start the sign-in again",
    html`<p class="lead">This browser has no sign-in in progress. It was completed, it expired, or the browser blocks cookies.</p>
<p>Go back to the app that sent you here and connect again, or ${signIn}. Allow cookies for this site.</p>`
  )

/** The page for a sign-in that would lead to an address outside the service. */
export const noReturnPage = (): Html =>
  messagePage(
    "This sign-in has no destination",
    html`<p class="lead">The form doesn't say what you are signing in to, or names an address that isn't allowed.</p>
<p>Go back to the app that sent you here and connect again, or ${signIn}.</p>`
  )

/** The page for a form that another site's page sent. */
export const crossSitePage = (): Html =>
  messagePage(
    "Another site sent this form",
    html`<p class="lead">Nothing was done. Agent Memory accepts forms only from its own pages.</p>
<p>If you were signing in, go back to the app you started from and connect again, or ${signIn}.</p>`
  )

const unread: Readonly<Record<number, string>> = {
  408: "It did not arrive in time, perhaps because the connection is slow.",
  413: "It is larger than a form can be here."
}

/** The page for a form that can't be read, by the status of its refusal. */
export const unreadFormPage = (status: number): Html =>
  messagePage(
    "The form could not be read",
    html`<p class="lead">${unread[status] ?? "It arrived incomplete, or not as a form."} Nothing was done.</p>
<p>Go back in your browser and send it again.</p>`
  )

/** The page for an address that opens pages and sends forms faster than people do. Wait in seconds. */
export const floodPage = (retryAfter: number): Html =>
  messagePage(
    "Too many requests from your network",
    html`<p class="lead">Nothing was done. Wait ${secondsText(retryAfter)}, then try again.</p>`
  )

/** The page for a start address with another secret than the service's. */
export const wrongSecretPage = (): Html =>
  messagePage(
    "Wrong local secret",
    html`<p class="lead">Open the address that the service printed when it started. It ends with <code>/?local=</code> and the
secret, which is also in the file <code>local-secret</code> in the service's <code>DATA_DIR</code>.</p>
<p>Without it everything works except showing sign-in links and codes: <a href="/">go to the front page</a>.</p>`
  )
