import { timeText, type Row, type CurrentAuthor, type Version } from "../../../domain/Row.ts"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import {
  authorOf,
  accountPage,
  accountResponse,
  fault,
  notice,
  proofField,
  question,
  timeHtml,
  onceField
} from "./Frame.ts"
import {
  fieldsView,
  historyView,
  jsonView,
  tabs,
  type RowPlace,
  type Unsaved,
  type View,
  textView,
  valueHtml,
  type EditedText
} from "./RowViews.ts"
import { withEditor } from "../PrivatePage.ts"
import type { Conflict } from "./RowSaves.ts"
import { shareForm } from "./Sharing.ts"
import { shorten } from "../../../domain/json/JsonIssue.ts"
import { choices, type Choice } from "../../../domain/RowMerge.ts"

/** A row as it is, or as it was when it was deleted. */
export interface ShownRow {
  readonly table: string
  readonly row: Row
  readonly isDeleted: boolean
  /** Newest first. */
  readonly versions: ReadonlyArray<Version>
  /** Who made the content that a live row has, as far as that is known. */
  readonly current: CurrentAuthor | undefined
  /** The ids of the rows before and behind it. */
  readonly neighbours: { readonly previous: string | undefined; readonly next: string | undefined }
}

const walk = (table: string, { next, previous }: ShownRow["neighbours"]): Html => {
  const step = (id: string | undefined, rel: "prev" | "next", words: string) =>
    id !== undefined && html`<li><a href="/tables/${table}/${id}" rel="${rel}">${words}</a></li>`
  return html`<nav class="pages" aria-label="Neighbouring rows"><ul>${step(previous, "prev", "Previous row")}${step(next, "next", "Next row")}</ul></nav>`
}

/** Where an account's own pages show a row. */
export const placeIn = (table: string, id: string, proof: string): RowPlace => {
  const path = `/tables/${table}/${id}`
  return { path, draft: path, proof, download: `${path}/_download`, authorOf }
}

const editorPage = (title: string, main: Html, status: number) =>
  withEditor((nonce) => {
    const styles = ["row.css", "editor.css"]
    return accountResponse(accountPage(title, { current: "/tables", width: "wide", styles, nonce }, main), status)
  })

/** The page of one row: its fields or JSON to edit, or its history, which is all there is of a deleted one. */
export const rowPage = (input: {
  readonly shown: ShownRow
  readonly view: View
  readonly proof: string
  readonly result?: HtmlValue
  readonly problem?: string
  readonly unsaved?: Unsaved
}) => {
  const { problem, proof, result, shown, unsaved } = input
  const { isDeleted, row, table, versions } = shown
  const view = isDeleted ? "history" : input.view
  const place = placeIn(table, row.id, proof)
  const { path } = place
  const author = shown.current?.changedBy
  return editorPage(
    `${table} ${row.id.slice(0, 8)}`,
    html`<header class="console-head"><div><p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>Row <code>${row.id.slice(0, 8)}</code></h1>
<p class="muted">${isDeleted ? "This row was deleted." : html`Changed ${timeHtml(timeText(row.updatedAt))}${author !== null && author !== undefined && html` by ${authorOf(author)}`}`} · <code class="row-id">${row.id}</code></p></div>
${
  !isDeleted &&
  html`<div class="console-actions"><form method="post" action="${path}/_duplicate">${proofField(proof)}${onceField()}<button type="submit">Duplicate</button></form>
${shareForm(path, proof)}
${question(
  "Delete",
  "Delete this row? It can be brought back from its history until its versions expire.",
  html`<form method="post" action="${path}/_delete">${proofField(proof)}<button class="danger" type="submit">Delete the row</button></form>`
)}</div>`
}</header>
${tabs(path, view, isDeleted ? ["history"] : ["fields", "json", "history"])}${!isDeleted && walk(table, shown.neighbours)}
${notice(result)}${fault(problem)}
${view === "history" ? historyView(place, versions, isDeleted ? undefined : row) : view === "json" ? jsonView(place, row, unsaved) : fieldsView(place, row, unsaved)}`,
    problem === undefined ? 200 : 400
  )
}

/** The page of one text of a row. */
export const textPage = (table: string, edited: EditedText, proof: string, problem?: string) => {
  const { name, row } = edited
  const place = placeIn(table, row.id, proof)
  const { path } = place
  const otherWay = html`<a href="${path}?view=json">Edit it as JSON</a>.`
  return editorPage(
    name,
    html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${path}">${row.id.slice(0, 8)}</a></p>
<h1>${name}</h1>
${fault(problem)}
${textView(place, edited, otherWay)}`,
    problem === undefined ? 200 : 400
  )
}

const choice = ({ mine, name, suggested, theirs }: Choice, index: number): Html => {
  const side = (which: "mine" | "theirs", label: string, value: string | undefined) =>
    html`<label class="side"><input type="radio" name="choice_${index}" value="${which}" required${(suggested ?? "mine") === which && " checked"}><span><strong>${label}</strong>${valueHtml(value, 2000, "no such field")}</span></label>`
  return html`<fieldset class="conflict"><legend>${shorten(name, 100)}</legend>${side("theirs", "Theirs", theirs)}${side("mine", "Yours", mine)}</fieldset>\n`
}

/** The form of a row that somebody else changed meanwhile, field by field. Nothing that was typed is lost. */
export const conflictView = (
  { draft, path, proof }: RowPlace,
  { base, current, mine, theirs }: Conflict
): Html => html`<h1>This row changed while you were editing</h1>
<p class="lead">Nothing was saved yet. Choose for each field that differs.</p>
<form method="post" action="${path}/_merge" data-draft="${draft}/" data-keeps="nothing">
${proofField(proof)}<input type="hidden" name="updated_at" value="${timeText(current.updatedAt)}">
<input type="hidden" name="base" value="${base}"><input type="hidden" name="mine" value="${mine}">
${choices(base, mine, theirs).map(choice)}
<div class="actions"><button class="primary" type="submit">Save</button><a class="button" href="${path}">Keep theirs</a></div>
</form>`

/** {@link conflictView} among an account's own pages. */
export const conflictPage = (table: string, place: RowPlace, conflict: Conflict): Html =>
  accountPage(
    "This row has changed",
    { current: "/tables", width: "wide", styles: ["row.css"] },
    html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${place.path}">${conflict.current.id.slice(0, 8)}</a></p>
${conflictView(place, conflict)}`
  )
