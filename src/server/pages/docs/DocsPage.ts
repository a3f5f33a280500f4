import { documentOf } from "../Assets.ts"
import { Html, html } from "../../doors/Html.ts"
import { page } from "../Page.ts"
import { type documentPages, documentParts } from "./Documents.ts"
import { groups } from "./OpenApi.ts"

const entry = (path: string, name: string, current: string, inner: Html | false = false): Html =>
  html`<li><a href="${path}"${path === current && html` aria-current="page"`}>${name}</a>${inner}</li>`

const part = (name: string, entries: ReadonlyArray<Html>): Html =>
  html`<li class="docs-part"><span>${name}</span><ul>${entries}</ul></li>`

/** The links to documents; the one that is shown has its parts below it. */
const documentLinks = (pages: typeof documentPages, current: string): ReadonlyArray<Html> =>
  pages.map(({ label, name, title }) => {
    const path = `/docs/${name}`
    const parts = path === current ? documentOf(name).sections.filter(({ isPart }) => isPart) : []
    const inner = parts.map(({ id, title }) => entry(`${path}#${id}`, title, current))
    return entry(path, label ?? title, current, inner.length > 0 && html`<ul>${inner}</ul>`)
  })

const { agents, programs, rest, selfHosting, start } = documentParts

const navigation = (current: string): ReadonlyArray<Html> => [
  part("Start", [entry("/docs", "Overview", current), ...documentLinks(start, current)]),
  part("Agents", [
    entry("/install", "Connect", current),
    ...documentLinks(agents, current),
    entry("/docs/tools", "MCP tools", current),
    entry("/how-to-use", "How to use", current)
  ]),
  part("Programs", documentLinks(programs, current)),
  part("Self-hosting", [
    entry("/docs/configuration", "Configuration", current),
    ...documentLinks(selfHosting, current)
  ]),
  part("REST API", [
    ...documentLinks(rest, current),
    ...groups().map(({ id, name, operations }) => {
      const path = `/docs/${id}`
      const inner = operations.map(({ operationId, summary }) => entry(`${path}#${operationId}`, summary, current))
      return entry(path, name, current, path === current && html`<ul>${inner}</ul>`)
    }),
    entry("/docs/errors", "Errors", current)
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
<input id="search-text" type="search" autocomplete="off" placeholder="Search: press /" aria-keyshortcuts="/ Enter" aria-controls="search-results">
<ul id="search-results" aria-live="polite"></ul></div>
<nav class="docs-nav" aria-label="Documentation"><ul>${navigation(input.current)}</ul></nav>
</aside>
<main class="docs-main">${input.body}</main>
</div>`
  })

/** A document of the repository as a page. */
export const documentPage = ({ description, name, title }: (typeof documentPages)[number]): Html =>
  docsPage({
    current: `/docs/${name}`,
    title,
    description,
    body: html`<div class="document">${Html.trusted(documentOf(name).html)}</div>`
  })
