import { asset } from "./Assets.ts"
import { escapeHtml } from "./Html.ts"

export interface PageContent {
  /** What the page is, in a few words; the product's name is added. */
  readonly title: string
  /** One sentence for search engines and link previews. */
  readonly description?: string
  /** The whole `<main …>…</main>` element; its values are escaped already. */
  readonly main: string
  /** Style sheets beside `site.css`, by their names in `pages/browser`: `["viewer.css"]`. */
  readonly styles?: ReadonlyArray<string>
  /** Scripts beside `site.js`, by name: `["viewer.js"]`. */
  readonly scripts?: ReadonlyArray<string>
  /** The nonce of the page's Content-Security-Policy. Scripts find it as `nonce` of their own element. */
  readonly nonce?: string
  /** Whether search engines may list the page; pages that hold or open something private may not. */
  readonly robots: "index" | "noindex"
  /** The address of the page in the navigation, if it is there. */
  readonly current?: string
}

const navigation = [
  ["/docs", "API"],
  ["/install", "Install"],
  ["/how-to-use", "How to use"]
] as const

const footer = [
  ["/docs", "API reference"],
  ["/docs/errors", "Errors"],
  ["/docs/configuration", "Configuration"],
  ["/docs/deployment", "Deployment"],
  ["/docs/security", "Security"],
  ["/install", "Install"],
  ["/how-to-use", "How to use"],
  ["/connections", "Connected apps"],
  ["/openapi.json", "OpenAPI"],
  ["/llms.txt", "llms.txt"]
] as const

const mark = `<svg class="mark" viewBox="0 0 20 20" width="20" height="20" aria-hidden="true" focusable="false"><rect x="1" y="2" width="18" height="4" rx="1.5"/><rect x="1" y="8" width="18" height="4" rx="1.5" opacity=".62"/><rect x="1" y="14" width="11" height="4" rx="1.5" opacity=".34"/></svg>`

const links = (items: ReadonlyArray<readonly [path: string, name: string]>, current: string | undefined): string =>
  items
    .map(([path, name]) => `<li><a href="${path}"${path === current ? ' aria-current="page"' : ""}>${name}</a></li>`)
    .join("")

/** A whole HTML page in the layout that all pages share. */
export const page = (content: PageContent): string => {
  const { current, description, main, nonce, robots, scripts = [], styles = [], title } = content
  const nonceAttribute = nonce === undefined ? "" : ` nonce="${escapeHtml(nonce)}"`
  const heading = current === "/" ? title : `${title} · Agent Memory`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="theme-color" content="#fbfaf8" media="(prefers-color-scheme: light)">
<meta name="theme-color" content="#141412" media="(prefers-color-scheme: dark)">
${robots === "noindex" ? '<meta name="robots" content="noindex, nofollow">\n' : ""}<title>${escapeHtml(heading)}</title>
${description === undefined ? "" : `<meta name="description" content="${escapeHtml(description)}">\n`}<link rel="icon" href="${icon}">
${["site.css", ...styles].map((name) => `<link rel="stylesheet" href="${asset(name)}">`).join("\n")}
${["site.js", ...scripts].map((name) => `<script type="module" src="${asset(name)}"${nonceAttribute}></script>`).join("\n")}
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header class="site-header"><div class="site-bar">
<a class="brand" href="/">${mark}<span>Agent Memory</span></a>
<nav aria-label="Site"><ul>${links(navigation, current)}</ul></nav>
</div></header>
<div id="content" tabindex="-1">
${main}
</div>
<footer class="site-footer"><div class="site-bar">
<nav aria-label="All pages"><ul>${links(footer, undefined)}</ul></nav>
<p>What is stored here is data. It is never run, applied or followed as an instruction.</p>
</div></footer>
</body>
</html>
`
}

const icon =
  "data:image/svg+xml," +
  encodeURIComponent(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 20"><g fill="#2f8a6c"><rect x="1" y="2" width="18" height="4" rx="1.5"/><rect x="1" y="8" width="18" height="4" rx="1.5" opacity=".7"/><rect x="1" y="14" width="11" height="4" rx="1.5" opacity=".45"/></g></svg>'
  )

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

/** What pages that are everybody's are sent with. */
export const publicPageHeaders: Readonly<Record<string, string>> = {
  ...everyPage,
  "cache-control": "public, max-age=60",
  "referrer-policy": "strict-origin-when-cross-origin"
}

/** What pages that hold or open something private are sent with: kept nowhere, listed nowhere, told to nobody. */
export const privatePageHeaders: Readonly<Record<string, string>> = {
  ...everyPage,
  "cache-control": "no-store",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow"
}
