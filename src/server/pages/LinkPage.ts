import { indented, members } from "../../domain/json/Members.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { rowText, timeText } from "../../domain/Row.ts"
import type { LinkContent } from "../links/LinkContent.ts"
import { isEditable } from "../links/LinkEdits.ts"
import type { FoundLink } from "../links/Links.ts"
import { html, type Html } from "../doors/Html.ts"
import { messagePage } from "./MessagePages.ts"
import { page } from "./Page.ts"

/** Cells show this much of a value; all of it is in the download and in the viewer's table. */
const maxCell = 200
const maxColumns = 100

const shortened = (text: string): string => (text.length > maxCell ? `${text.slice(0, maxCell)}…` : text)

const cell = (value: string | undefined): Html =>
  html`<td>${value && shortened(value[0] === '"' ? decodeString(value) : value)}</td>`

const table = (rows: ReadonlyArray<JsonText>): Html => {
  if (rows.length === 0) return html`<p>No rows match.</p>`
  const parts = rows.map((row) => new Map(members(row).map((member) => [member.name, member.value])))
  const columns = [...new Set(parts.flatMap((part) => [...part.keys()]))].slice(0, maxColumns)
  const lines = parts.map((part) => html`<tr>${columns.map((name) => cell(part.get(name)))}</tr>\n`)
  return html`<div class="table-frame" tabindex="0" role="region" aria-label="Rows"><table>
<thead><tr>${columns.map((name) => html`<th scope="col">${shortened(name)}</th>`)}</tr></thead>
<tbody>
${lines}</tbody></table></div>`
}

// HTML drops a line feed at the beginning of the element.
const pre = (text: string, label: string): Html =>
  html`<pre tabindex="0" role="region" aria-label="${label}">\n${text}</pre>`

const shown = (
  content: LinkContent,
  path: string
): { readonly title: string; readonly about: string; readonly body: Html } => {
  switch (content.kind) {
    case "row":
      return {
        title: content.table,
        about: `Row ${content.row.id}`,
        body: pre(indented(rowText(content.row).text), "The row as JSON")
      }
    case "text":
      return {
        title: content.field.name,
        about: `Text field in ${content.table}, row ${content.row.id}`,
        body: pre(decodeString(content.field.value), "The text")
      }
    case "query": {
      const { hasMore, nextCursor, rows, target } = content
      const count = rows.length === 1 ? "1 row" : `${rows.length} rows`
      return {
        title: target.table,
        about: `Query result: ${count}${hasMore ? ", and there are more" : ""}`,
        body: html`${table(rows)}${nextCursor && html`\n<p><a href="${path}?cursor=${nextCursor}">Next rows</a></p>`}`
      }
    }
  }
}

/** The page of a link: readable without scripts, which put the editor or the table in its place. */
export const linkPage = (
  link: FoundLink,
  content: LinkContent,
  { cursor, nonce, path }: { readonly path: string; readonly cursor: string | undefined; readonly nonce: string }
): Html => {
  const { about, body, title } = shown(content, path)
  const ends = timeText(link.expiresAt.getTime())
  return page({
    title: title.slice(0, 100),
    robots: "noindex",
    nonce,
    styles: ["viewer.css"],
    scripts: ["viewer.js"],
    main: html`<main id="viewer" class="wide" data-kind="${content.kind}">
<header class="viewer-header"><div><h1>${title}</h1>
<p class="muted">${about}</p></div>
<div class="viewer-actions"><a class="button" href="${path}/download${cursor && `?cursor=${cursor}`}" download>Download</a></div></header>
<p class="muted">Anyone with this link can ${isEditable(link) ? "view, edit and download" : "view and download"} this until <time datetime="${ends}">${ends.slice(0, 16).replace("T", " ")} UTC</time>.</p>
${body}
${isEditable(link) && html`<noscript><p>To edit, turn on JavaScript for this page.</p></noscript>`}
</main>`
  })
}

/** The one page for every link that opens nothing: unknown, expired, or revoked. */
export const linkExpiredPage = (): Html =>
  messagePage(
    "This link has expired",
    html`<p class="lead">Links to stored data work for about an hour. This one has expired, was revoked, or was cut off when it was copied.</p>
<p>Nothing is lost: the data is still stored. Ask the agent that sent the link for a new one:</p>
<blockquote><p>Please make me a new Agent Memory link to what you stored.</p></blockquote>`
  )

/** The page of a link's address that asks to go on where nothing goes on. */
export const linkCursorPage = (path: string): Html =>
  messagePage(
    "This page can't be continued",
    html`<p class="lead">The address is not whole: it has to be the one that "Next rows" leads to.</p>
<p><a href="${path}">Begin with the first rows</a></p>`
  )

/** The page of a valid link to something that was deleted or is no longer text. */
export const linkGonePage = (detail: string): Html =>
  messagePage(
    "The linked data is gone",
    html`<p class="lead">${detail}</p>
<p>Deleted rows are kept for a while, but links neither show nor restore them. Ask the agent that sent the link to restore the row. The link then works again until it expires.</p>`
  )

/** The page of a link that was opened too often in a minute. */
export const linkLimitedPage = (detail: string, seconds: string): Html =>
  messagePage(
    "Too many requests",
    html`<p class="lead">${detail}</p>
<p>Try again in ${seconds} ${seconds === "1" ? "second" : "seconds"}. Nothing is lost.</p>`
  )

/** The page while the database can't be reached. */
export const linkLaterPage = (): Html =>
  messagePage(
    "Service unavailable",
    html`<p class="lead">The service can't read its data right now. Your link is still valid: try again in a few seconds.</p>`
  )
