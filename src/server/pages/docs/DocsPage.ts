import { escapeHtml } from "../Html.ts"
import { page } from "../Page.ts"
import { groups } from "./OpenApi.ts"

/** Text with code in backticks, as HTML. */
export const inlineCode = (text: string): string => escapeHtml(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>")

const entry = (path: string, name: string, current: string, inner = ""): string =>
  `<li><a href="${path}"${path === current ? ' aria-current="page"' : ""}>${name}</a>${inner}</li>`

const navigation = (current: string): string => {
  const inGroup = groups().map(({ id, name, operations }) => {
    const path = `/docs/${id}`
    const inner = operations
      .map(({ operationId, summary }) => entry(`${path}#${operationId}`, summary, current))
      .join("")
    return entry(path, name, current, path === current ? `<ul>${inner}</ul>` : "")
  })
  return [
    entry("/docs", "Overview", current),
    ...inGroup,
    entry("/docs/tools", "MCP tools", current),
    entry("/docs/errors", "Errors", current),
    entry("/docs/configuration", "Configuration", current),
    entry("/docs/deployment", "Deployment", current),
    entry("/docs/security", "Security", current)
  ].join("")
}

/** A page of the reference: navigation and search on the left. */
export const docsPage = (input: {
  readonly current: string
  readonly title: string
  readonly description: string
  readonly body: string
}): string =>
  page({
    title: input.title,
    description: input.description,
    robots: "index",
    current: "/docs",
    scripts: ["docs.js"],
    main: `<div class="wide docs">
<aside class="docs-side">
<div id="search" role="search" hidden><label class="visually-hidden" for="search-text">Search the reference</label>
<input id="search-text" type="search" autocomplete="off" placeholder="Search" aria-controls="search-results">
<ul id="search-results" aria-live="polite"></ul></div>
<nav class="docs-nav" aria-label="Reference"><ul>${navigation(input.current)}</ul></nav>
</aside>
<main class="docs-main">${input.body}</main>
</div>`
  })
