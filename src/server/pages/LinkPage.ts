import { decodeString } from "../../domain/json/Lexemes.ts"
import { timeText, type Row, type Version } from "../../domain/Row.ts"
import { html, type Html, type HtmlValue } from "../doors/Html.ts"
import type { EditableContent } from "../links/LinkContent.ts"
import { fieldsOf, type EditableLink } from "../links/LinkEdits.ts"
import { authorOf, fault, notice, timeHtml } from "./console/Frame.ts"
import { conflictView } from "./console/RowPage.ts"
import type { Conflict } from "./console/RowSaves.ts"
import {
  fieldsView,
  historyView,
  jsonView,
  tabs,
  textView,
  type EditedText,
  type RowPlace,
  type Unsaved,
  type View
} from "./console/RowViews.ts"
import { page } from "./Page.ts"
import { privatePage, withEditor } from "./PrivatePage.ts"

/** Where a link shows its row. What is typed is kept by the row, so that the next link to it finds it. */
export const linkPlace = ({ target }: EditableLink, path: string): RowPlace => ({
  path,
  draft: `links/${target.table}/${target.id}`,
  proof: undefined,
  download: `${path}/download`,
  authorOf: (changedBy) => authorOf(changedBy, "the account’s owner")
})

const frame = (title: string, main: Html, status: number) =>
  withEditor((nonce) => {
    const shown = page({
      title: title.slice(0, 100),
      robots: "noindex",
      nonce,
      styles: ["account.css", "console.css", "row.css", "editor.css"],
      scripts: ["console.js"],
      main: html`<main class="wide">${main}</main>`
    })
    return privatePage(shown, status)
  })

const heading = ({ field, row, table }: Shown): Html => {
  const id = html`<code>${row.id.slice(0, 8)}</code>`
  return field === undefined
    ? html`<p class="crumbs muted">${table}</p><h1>Row ${id}</h1>`
    : html`<p class="crumbs muted">${table} / ${id}</p><h1>${field.name}</h1>`
}

interface Shown {
  readonly table: string
  readonly row: Row
  readonly field?: { readonly name: string } | undefined
}

const head = (link: EditableLink, shown: Shown, { download }: RowPlace): Html => {
  const { id, updatedAt } = shown.row
  const [ends, now] = [timeText(link.expiresAt.getTime()), timeText(link.actor.now.getTime())]
  return html`<header class="console-head"><div>${heading(shown)}
<p class="muted">Changed ${timeHtml(timeText(updatedAt))} · <code class="row-id">${id}</code></p></div>
<div class="console-actions"><a class="button" href="${download}" download>Download</a></div></header>
<p class="muted">Anyone with this link can view, edit and download this until <time datetime="${ends}" data-ends data-now="${now}">${ends.slice(0, 16).replace("T", " ")} UTC</time>.</p>`
}

/** The page of a link to a row or a text: the row's page in the account, confined to what the link may. */
export const linkPage = (input: {
  readonly link: EditableLink
  readonly content: EditableContent
  readonly versions: ReadonlyArray<Version>
  readonly path: string
  readonly view: View
  readonly result?: HtmlValue
  readonly problem?: string
  readonly unsaved?: Unsaved
}) => {
  const { content, link, path, problem, result, unsaved, versions, view } = input
  const { row, table } = content
  const place = linkPlace(link, path)
  const status = problem === undefined ? 200 : 400
  const said = html`${notice(result)}${fault(problem)}`
  const history = () => historyView(place, versions, row, (row) => fieldsOf(link.target, row))
  if (content.kind === "text") {
    const { field } = content
    const edited = { row, name: field.name, text: decodeString(field.value), unsaved }
    const otherWay = html`Ask for a link to the row to edit it as JSON.`
    return frame(
      field.name,
      html`${head(link, content, place)}
${tabs(path, view, ["fields", "history"], { fields: "Text", json: "JSON", history: "History" })}
${said}
${view === "history" ? history() : textView(place, edited, otherWay)}`,
      status
    )
  }
  return frame(
    `${table} ${row.id.slice(0, 8)}`,
    html`${head(link, content, place)}
${tabs(path, view, ["fields", "json", "history"])}
${said}
${view === "history" ? history() : view === "json" ? jsonView(place, row, unsaved) : fieldsView(place, row, unsaved)}`,
    status
  )
}

/** One text of a link's row, on a page of its own. */
export const linkTextPage = (link: EditableLink, edited: EditedText, path: string, problem?: string) => {
  const { name, row } = edited
  const place = linkPlace(link, path)
  const otherWay = html`<a href="${path}?view=json">Edit it as JSON</a>.`
  return frame(
    name,
    html`${head(link, { table: link.target.table, row, field: { name } }, place)}
<p><a href="${path}">All fields</a></p>
${fault(problem)}
${textView(place, edited, otherWay)}`,
    problem === undefined ? 200 : 400
  )
}

/** What a link's row became while it was edited, beside what was typed. */
export const linkConflictPage = (link: EditableLink, path: string, conflict: Conflict) =>
  frame("This row has changed", conflictView(linkPlace(link, path), conflict), 409)
