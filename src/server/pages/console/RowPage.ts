import { timeText, type Row } from "../../../domain/Row.ts"
import type { CurrentAuthor, Version } from "../../../domain/Version.ts"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { authorOf } from "./Authors.ts"
import { accountPage, fault, notice, proofField, question, timeHtml } from "./Frame.ts"
import type { Neighbours } from "./Neighbours.ts"
import { onceField } from "./Once.ts"
import { fieldsView, historyView, jsonView, tabs, type RowPlace, type Unsaved, type View } from "./RowViews.ts"
import { shareForm } from "./SharePage.ts"

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
  return accountPage({
    title: `${table} ${row.id.slice(0, 8)}`,
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css", "editor.css"],
    nonce,
    main: html`<header class="console-head"><div><p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>Row <code>${row.id.slice(0, 8)}</code></h1>
<p class="muted">${isDeleted ? "This row was deleted." : html`Changed ${timeHtml(timeText(row.updatedAt))}${author !== null && author !== undefined && html` by ${authorOf(author)}`}`} · <code class="row-id">${row.id}</code></p></div>
${
  !isDeleted &&
  html`<div class="console-actions"><form method="post" action="${path}/_duplicate">${proofField(proof)}${onceField()}<button type="submit">Duplicate</button></form>
${shareForm(path, proof)}
${question({
  button: "Delete",
  text: "Delete this row? It can be brought back from its history until its versions expire.",
  form: html`<form method="post" action="${path}/_delete">${proofField(proof)}<button class="danger" type="submit">Delete the row</button></form>`
})}</div>`
}</header>
${tabs(path, view, isDeleted ? ["history"] : ["fields", "json", "history"])}${!isDeleted && walk(table, shown.neighbours)}
${notice(result)}${fault(problem)}
${view === "history" ? historyView(place, versions, isDeleted ? undefined : row) : view === "json" ? jsonView(place, row, unsaved) : fieldsView(place, row, unsaved)}`
  })
}
