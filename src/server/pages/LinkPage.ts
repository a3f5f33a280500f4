import { indented } from "../../domain/json/Indent.ts"
import { members } from "../../domain/json/Members.ts"
import { decodeString } from "../../domain/json/Strings.ts"
import { rowText, timeText, type Row } from "../../domain/Row.ts"
import type { LinkContent } from "../links/LinkContent.ts"
import { isEditable } from "../links/LinkEdits.ts"
import type { FoundLink } from "../links/LinksRepo.ts"
import { escapeHtml } from "./Html.ts"
import { page } from "./Page.ts"

/** Cells show this much of a value; all of it is in the download and in the page's own table. */
const maxCell = 200

/** Text as it can stand in HTML: what HTML has no way to hold is shown as U+FFFD. */
const shownText = (text: string): string => escapeHtml(text.toWellFormed().replaceAll("\0", "\ufffd"))

const shortened = (text: string): string => shownText(text.length > maxCell ? `${text.slice(0, maxCell)}…` : text)

const cell = (value: string | undefined): string => {
  if (value === undefined) return "<td></td>"
  if (value[0] === '"') return `<td>${shortened(decodeString(value))}</td>`
  return `<td>${shortened(value)}</td>`
}

const table = (rows: ReadonlyArray<Row>): string => {
  if (rows.length === 0) return "<p>No row matches now.</p>"
  const parts = rows.map((row) => new Map(members(rowText(row)).map((member) => [member.name, member.value])))
  const columns = [...new Set(parts.flatMap((part) => [...part.keys()]))].slice(0, 100)
  const head = columns.map((name) => `<th scope="col">${shortened(name)}</th>`).join("")
  const lines = parts.map((part) => `<tr>${columns.map((name) => cell(part.get(name))).join("")}</tr>`)
  return `<div class="table-frame" tabindex="0" role="region" aria-label="Rows"><table>
<thead><tr>${head}</tr></thead>
<tbody>
${lines.join("\n")}
</tbody></table></div>`
}

const pre = (text: string, label: string): string =>
  `<pre tabindex="0" role="region" aria-label="${label}">\n${shownText(text)}</pre>`

const shown = (content: LinkContent): { readonly title: string; readonly about: string; readonly body: string } => {
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
      const { hasMore, rows, target } = content
      const count = rows.length === 1 ? "1 row" : `${rows.length} rows`
      return {
        title: target.table,
        about: `Query result: ${count}${hasMore ? ", cut at the limit of the link" : ""}`,
        body: table(rows)
      }
    }
  }
}

/** The page of a link: readable without scripts, which put the editor or the table in its place. */
export const linkPage = (link: FoundLink, content: LinkContent, path: string, nonce: string): string => {
  const { about, body, title } = shown(content)
  const ends = timeText(link.expiresAt.getTime())
  const may = isEditable(link) ? "see, edit and download" : "see and download"
  return page({
    title: title.slice(0, 100).toWellFormed().replaceAll("\0", "\ufffd"),
    robots: "noindex",
    nonce,
    styles: ["viewer.css"],
    scripts: ["viewer.js"],
    main: `<main id="viewer" class="wide" data-kind="${content.kind}">
<header class="viewer-header"><div><h1>${shownText(title)}</h1>
<p class="muted">${shownText(about)}</p></div>
<div class="viewer-actions"><a class="button" href="${escapeHtml(path)}/download" download>Download</a></div></header>
<p class="muted">Whoever has this link may ${may} this until <time datetime="${ends}">${ends.slice(0, 16).replace("T", " ")} UTC</time>.</p>
${body}
${isEditable(link) ? "<noscript><p>To edit, turn on JavaScript for this page.</p></noscript>" : ""}
</main>`
  })
}

const ask = "Please make me a new Agent Memory link to what you stored."

const notice = (title: string, lines: string): string =>
  page({ title, robots: "noindex", main: `<main class="narrow">\n<h1>${title}</h1>\n${lines}\n</main>` })

/** One page for every address that opens nothing: never made, over, or revoked. */
export const linkOverPage = (): string =>
  notice(
    "This link is over",
    `<p>Links to stored data live for an hour or so. This one has ended, was withdrawn, or was cut off on its way to you.</p>
<p>Nothing is lost: what was stored is still there. Ask the agent that sent it for a new one:</p>
<blockquote><p>${ask}</p></blockquote>`
  )

/** The page of a link that is in force, and leads to something that was deleted or is no text any more. */
export const linkGonePage = (detail: string): string =>
  notice(
    "What this link showed is gone",
    `<p>${escapeHtml(detail)}</p>
<p>Deleted rows are kept for a while, but not shown or restored through links. Ask the agent that sent the link to bring it back; the link works again then, until it expires.</p>`
  )

/** The page of a link that was opened too often in a minute. */
export const linkLimitedPage = (detail: string, seconds: string): string =>
  notice(
    "Try again in a moment",
    `<p>${escapeHtml(detail)}</p>
<p>It opens again in ${escapeHtml(seconds)} ${seconds === "1" ? "second" : "seconds"}. Nothing is lost.</p>`
  )

/** The page while the service can't look. */
export const linkLaterPage = (): string =>
  notice("Try again in a moment", "<p>The service can't read its data right now. The link is as good as before.</p>")
