import { documents } from "../Assets.ts"
import { Html, html } from "../../doors/Html.ts"
import { page } from "../Page.ts"
import { groups } from "./OpenApi.ts"

/** What the search finds: a title, a note below it, an address, and the lower-case text that is searched. */
export interface SearchEntry {
  readonly title: string
  readonly note: string
  readonly path: string
  readonly text: string
}

const entry = (path: string, name: string, current: string, inner: Html | false = false): Html =>
  html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${name}</a>${inner}</li>`

const navigation = (current: string): ReadonlyArray<Html> => [
  entry("/docs", "Overview", current),
  ...groups().map(({ id, name, operations }) => {
    const path = `/docs/${id}`
    const inner = operations.map(({ operationId, summary }) => entry(`${path}#${operationId}`, summary, current))
    return entry(path, name, current, path === current && html`<ul>${inner}</ul>`)
  }),
  entry("/docs/tools", "MCP tools", current),
  entry("/docs/errors", "Errors", current),
  entry("/docs/configuration", "Configuration", current),
  entry("/docs/deployment", "Deployment", current),
  entry("/docs/security", "Security", current)
]

/** A page of the documentation, with navigation and search on the left. */
export const docsPage = (input: {
  readonly current: string
  readonly title: string
  readonly description: string
  readonly body: Html
}): Html =>
  page({
    title: input.title,
    description: input.description,
    robots: "index",
    current: "/docs",
    styles: ["docs.css"],
    scripts: ["docs.js"],
    main: html`<div class="wide docs">
<aside class="docs-side">
<div id="search" role="search" hidden><label class="visually-hidden" for="search-text">Search the documentation</label>
<input id="search-text" type="search" autocomplete="off" placeholder="Search" aria-controls="search-results">
<ul id="search-results" aria-live="polite"></ul></div>
<nav class="docs-nav" aria-label="Documentation"><ul>${navigation(input.current)}</ul></nav>
</aside>
<main class="docs-main">${input.body}</main>
</div>`
  })

/** A document of the repository as a page: `deployment.md` beside this file or `.github/SECURITY.md`. */
const documentPage = (name: "deployment" | "security", title: string, description: string): Html =>
  docsPage({
    current: `/docs/${name}`,
    title,
    description,
    body: html`<div class="document">${Html.trusted(documents()[name].html)}</div>`
  })

/** How to run the service for others: proxy, systemd, instances, backup, upgrade, growth. */
export const deploymentPage = (): Html =>
  documentPage(
    "deployment",
    "Deployment",
    "How to run Agent Memory for others: proxy, systemd, backup, upgrade, growth."
  )

/** Which secrets there are, what each one opens, what an attacker gets, and how to report a vulnerability. */
export const securityPage = (): Html =>
  documentPage(
    "security",
    "Security",
    "Which secrets Agent Memory has, what each one opens, and how to report a vulnerability."
  )

/** What the search finds in the documents. */
export const documentEntries = (): ReadonlyArray<SearchEntry> =>
  (["deployment", "security"] as const).flatMap((name) =>
    documents()[name].sections.map(({ id, text, title }) => ({
      title,
      note: name === "security" ? "Security" : "Deployment",
      path: `/docs/${name}#${id}`,
      text: `${title} ${name} ${text}`.toLowerCase()
    }))
  )
