import { timeText, type Row, type CurrentAuthor, type Version } from "../../../domain/Row.ts"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { authorOf, accountPage, fault, notice, proofField, question, timeHtml, onceField } from "./Frame.ts"
import { addressOf } from "../PrivatePage.ts"
import type { Neighbours } from "./RowRoutes.ts"
import {
  fieldsView,
  historyView,
  jsonView,
  tabs,
  type RowPlace,
  type Unsaved,
  type View,
  textView,
  type EditedText
} from "./RowViews.ts"
import { shareForm } from "./Sharing.ts"
import { languageOf } from "../../links/LinkContent.ts"
import { shorten } from "../../../domain/json/JsonIssue.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
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
  readonly neighbours: Neighbours
}

const walk = (table: string, { next, previous }: Neighbours): Html => {
  const step = (id: string | undefined, rel: "prev" | "next", words: string) =>
    id !== undefined && html`<li><a href="/tables/${table}/${id}" rel="${rel}">${words}</a></li>`
  return html`<nav class="pages" aria-label="Neighbouring rows"><ul>${step(previous, "prev", "Previous row")}${step(next, "next", "Next row")}</ul></nav>`
}

/** Where an account's own pages show a row. */
export const placeIn = (table: string, id: string, proof: string): RowPlace => {
  const path = `/tables/${table}/${id}`
  return { path, draft: path, proof, download: `${path}/_download`, authorOf }
}

/** One row: its fields or JSON to edit, or its history. */
export const rowPage = (input: {
  readonly shown: ShownRow
  readonly view: View
  readonly proof: string
  readonly result?: HtmlValue
  readonly problem?: string | undefined
  readonly nonce: string
  readonly unsaved?: Unsaved | undefined
}): Html => {
  const { nonce, problem, proof, result, shown, unsaved, view } = input
  const { isDeleted, row, table, versions } = shown
  const place = placeIn(table, row.id, proof)
  const { path } = place
  const author = shown.current?.changedBy
  return accountPage(
    `${table} ${row.id.slice(0, 8)}`,
    { current: "/tables", width: "wide", styles: ["row.css", "editor.css"], nonce },
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
${view === "history" ? historyView(place, versions, isDeleted ? undefined : row) : view === "json" ? jsonView(place, row, unsaved) : fieldsView(place, row, unsaved)}`
  )
}

/** One text of a row, on a page of its own. */
export const textPage = (input: {
  readonly table: string
  readonly edited: EditedText
  readonly proof: string
  readonly nonce: string
  readonly problem?: string | undefined
}): Html => {
  const { edited, nonce, problem, proof, table } = input
  const { name, row } = edited
  const place = placeIn(table, row.id, proof)
  const { path } = place
  const otherWay = html`<a href="${path}?view=json">Edit it as JSON</a>.`
  return accountPage(
    name,
    { current: "/tables", width: "wide", styles: ["row.css", "editor.css"], nonce },
    html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a> / <a href="${path}">${row.id.slice(0, 8)}</a></p>
<h1>${name}</h1>
${fault(problem)}
${textView(place, edited, { back: path, language: languageOf(row), otherWay })}`
  )
}

/** Two versions of what was edited, and what both began with, as compact JSON. */
interface Conflict {
  readonly current: Row
  readonly base: string
  readonly mine: string
  readonly theirs: string
}

const shown = (value: string | undefined): Html =>
  value === undefined
    ? html`<em class="muted">no such field</em>`
    : html`<span class="value">${shorten(value[0] === '"' ? decodeString(value) : value, 2000)}</span>`

const choice = ({ mine, name, suggested, theirs }: Choice, index: number): Html => {
  const side = (which: "mine" | "theirs", label: string, value: string | undefined) =>
    html`<label class="side"><input type="radio" name="choice_${index}" value="${which}" required${(suggested ?? "mine") === which && " checked"}><span><strong>${label}</strong>${shown(value)}</span></label>`
  return html`<fieldset class="conflict"><legend>${shorten(name, 100)}</legend>${side("theirs", "Theirs", theirs)}${side("mine", "Yours", mine)}</fieldset>\n`
}

/** The form of a row that somebody else changed meanwhile, field by field. Nothing that was typed is lost. */
export const conflictView = (
  { draft, path, proof }: RowPlace,
  { base, current, mine, theirs }: Conflict
): Html => html`<h1>This row changed while you were editing</h1>
<p class="lead">Nothing was saved yet. Choose for each field that differs.</p>
<form method="post" action="${path}/_merge" data-draft="${draft}/" data-keeps="nothing">
${proof !== undefined && proofField(proof)}<input type="hidden" name="updated_at" value="${timeText(current.updatedAt)}">
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

const item = ({ archivedAt, changedBy, expiresAt, row, table, version }: Version, proof: string): Html =>
  html`<li class="card write"><div><p><a href="/tables/${table}/${row.id}"><code>${row.id.slice(0, 8)}</code></a> <span class="muted">deleted ${timeHtml(timeText(archivedAt))} by</span> ${authorOf(changedBy)}</p>
<p><code>${shorten(row.data.text, 300)}</code></p><p class="muted small">Kept until ${timeHtml(timeText(expiresAt))}.</p></div>
<form method="post" action="/tables/${table}/${row.id}/_restore">${proofField(proof)}<input type="hidden" name="version" value="${version}"><button type="submit">Bring back<span class="visually-hidden"> row ${row.id.slice(0, 8)}</span></button></form></li>\n`

/** The rows of a table that are deleted and can be brought back. */
export const deletedPage = (input: {
  readonly tables: ReadonlyArray<string>
  readonly table: string | undefined
  readonly rows: ReadonlyArray<Version>
  readonly next: string | undefined
  readonly proof: string
}): Html => {
  const { next, proof, rows, table, tables } = input
  return accountPage(
    "Deleted rows",
    { current: "/activity", width: "wide" },
    html`<header class="console-head"><div><h1>Deleted rows</h1><p class="muted">Rows that can be brought back, last deleted first.</p></div></header>
<nav class="row-tabs" aria-label="Views"><ul><li><a href="/activity">Changes</a></li><li><a href="/activity/deleted" aria-current="page">Deleted rows</a></li></ul></nav>
<form class="filter" method="get" action="/activity/deleted">
<div><label for="deleted-table">Table</label><select id="deleted-table" name="table">${tables.map((name) => html`<option value="${name}"${name === table && " selected"}>${name}</option>`)}</select></div>
<button type="submit">Show</button></form>
${rows.length === 0 ? html`<p class="empty">No deleted row is kept${table !== undefined && html` of <strong>${table}</strong>`}.</p>` : html`<ol class="writes">${rows.map((row) => item(row, proof))}</ol>`}
${next !== undefined && html`<nav class="pages" aria-label="Pages"><ul><li><a rel="next" href="${addressOf("/activity/deleted", { table, cursor: next })}">More rows</a></li></ul></nav>`}`
  )
}
