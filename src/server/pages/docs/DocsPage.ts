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

const part = (name: string, entries: ReadonlyArray<Html>): Html =>
  html`<li class="docs-part"><span>${name}</span><ul>${entries}</ul></li>`

const navigation = (current: string): ReadonlyArray<Html> => [
  part("REST API", [
    entry("/docs", "Overview", current),
    ...groups().map(({ id, name, operations }) => {
      const path = `/docs/${id}`
      const inner = operations.map(({ operationId, summary }) => entry(`${path}#${operationId}`, summary, current))
      return entry(path, name, current, path === current && html`<ul>${inner}</ul>`)
    }),
    entry("/docs/errors", "Errors", current)
  ]),
  part("Agents", [
    entry("/install", "Connect", current),
    entry("/docs/tools", "MCP tools", current),
    entry("/how-to-use", "How to use", current)
  ]),
  part("TypeScript", [entry("/docs/client", "Client", current), entry("/docs/testing", "Testing", current)]),
  part("Operation", [
    entry("/docs/configuration", "Configuration", current),
    entry("/docs/deployment", "Deployment", current),
    entry("/docs/security", "Security", current)
  ])
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
<input id="search-text" type="search" autocomplete="off" placeholder="Search, or press /" aria-keyshortcuts="/ Enter" aria-controls="search-results">
<ul id="search-results" aria-live="polite"></ul></div>
<nav class="docs-nav" aria-label="Documentation"><ul>${navigation(input.current)}</ul></nav>
</aside>
<main class="docs-main">${input.body}</main>
</div>`
  })

const documentTitles = {
  client: ["TypeScript client", "The TypeScript client of Agent Memory, with promises and with Effect."],
  testing: ["Testing", "How to test code that stores in Agent Memory: a complete service for each test file."],
  deployment: ["Deployment", "How to run Agent Memory for others: proxy, systemd, backup, upgrade, growth."],
  security: ["Security", "Which secrets Agent Memory has, what each one opens, and how to report a vulnerability."]
} as const

/** The documents that are pages under `/docs/`. */
export const documentNames = ["client", "testing", "deployment", "security"] as const

/** A document of the repository as a page: `deployment.md` beside this file or `.github/SECURITY.md`. */
export const documentPage = (name: (typeof documentNames)[number]): Html => {
  const [title, description] = documentTitles[name]
  return docsPage({
    current: `/docs/${name}`,
    title,
    description,
    body: html`<div class="document">${Html.trusted(documents()[name].html)}</div>`
  })
}

/** What the search finds in the documents. */
export const documentEntries = (): ReadonlyArray<SearchEntry> =>
  documentNames.flatMap((name) =>
    documents()[name].sections.map(({ id, text, title }) => ({
      title,
      note: documentTitles[name][0],
      path: `/docs/${name}#${id}`,
      text: `${title} ${name} ${text}`.toLowerCase()
    }))
  )
