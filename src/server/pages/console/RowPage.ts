import { shorten } from "../../../domain/json/JsonIssue.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { indented, members } from "../../../domain/json/Members.ts"
import { timeText, type Row } from "../../../domain/Row.ts"
import { differences } from "../../../domain/RowMerge.ts"
import type { CurrentAuthor, Version } from "../../../domain/Version.ts"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { authorOf } from "./Authors.ts"
import { accountPage, fault, notice, proofField, question, timeHtml } from "./Frame.ts"
import type { Neighbours } from "./Neighbours.ts"
import { formLines, mostFields, type Typed } from "./RowForm.ts"
import { shareForm } from "./SharePage.ts"

/** What of a row a page shows. */
export type View = "fields" | "json" | "history"

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

const operations = { update: "Changed", delete: "Deleted", restore: "Restored an older version" } as const

const tabs = (path: string, view: View, isDeleted: boolean): Html => {
  const all = (isDeleted ? ["history"] : ["fields", "json", "history"]) as ReadonlyArray<View>
  const names = { fields: "Fields", json: "JSON", history: "History" }
  return html`<nav class="row-tabs" aria-label="Views of the row"><ul>${all.map(
    (one) =>
      html`<li><a href="${path}${one === "fields" ? "" : `?view=${one}`}"${one === view && html` aria-current="page"`}>${names[one]}</a></li>`
  )}</ul></nav>`
}

const walk = (table: string, { next, previous }: Neighbours): Html => {
  const step = (id: string | undefined, rel: "prev" | "next", words: string) =>
    id !== undefined && html`<li><a href="/tables/${table}/${id}" rel="${rel}">${words}</a></li>`
  return html`<nav class="pages" aria-label="Neighbouring rows"><ul>${step(previous, "prev", "Previous row")}${step(next, "next", "Next row")}</ul></nav>`
}

const guard = (row: Row, proof: string): Html =>
  html`${proofField(proof)}<input type="hidden" name="updated_at" value="${timeText(row.updatedAt)}">`

const fieldsView = (path: string, row: Row, proof: string, typed: Typed | undefined): Html => {
  const stored = members(row.data)
  if (stored.length > mostFields) {
    return html`<p>This row has ${stored.length} fields, too many for a form. <a href="${path}?view=json">Edit it as JSON</a>.</p>`
  }
  return html`<form method="post" action="${path}" data-draft="${path}/fields/">
${guard(row, proof)}
${formLines({ stored, textPath: `${path}/_text`, typed })}
<div class="actions save-bar"><button class="primary" type="submit">Save</button><a class="button" href="${path}">Discard changes</a></div>
</form>`
}

const jsonView = (path: string, row: Row, proof: string, typed: string | undefined): Html => {
  const text = typed ?? indented(row.data.text)
  return html`<form method="post" action="${path}/_json" data-draft="${path}/json/">
${guard(row, proof)}
<label for="row-json">The row’s own fields</label>
<textarea id="row-json" name="row" class="code-area" rows="${Math.min(30, Math.max(8, text.split("\n", 40).length))}" spellcheck="false">\n${text}</textarea>
<div class="actions save-bar"><button class="primary" type="submit">Save</button><a class="button" href="${path}?view=json">Discard changes</a><a class="button" href="${path}/_download" download>Download</a></div>
</form>`
}

const side = (value: string | undefined): Html => {
  if (value === undefined) return html`<em class="muted">none</em>`
  return html`<span class="value">${shorten(value[0] === '"' ? decodeString(value) : value, 600)}</span>`
}

/** The fields that a change left different, each as it was and as it became. */
export const changes = (before: string, after: string): Html => {
  const found = differences(before, after)
  if (found.length === 0) return html`<p class="muted">No field is different.</p>`
  return html`<table class="changes"><thead><tr><th scope="col">Field</th><th scope="col">Was</th><th scope="col">Became</th></tr></thead><tbody>${found
    .slice(0, mostFields)
    .map(
      ({ after, before, name }) =>
        html`<tr><th scope="row">${shorten(name, 100)}</th><td>${side(before)}</td><td>${side(after)}</td></tr>`
    )}</tbody></table>`
}

const version = (path: string, { isDeleted, row, versions }: ShownRow, nth: number, proof: string): Html => {
  const one = versions[nth]!
  const next = versions[nth - 1]?.row ?? (isDeleted ? undefined : row)
  return html`<li class="card"><h2>${operations[one.operation]} ${timeHtml(timeText(one.archivedAt))}</h2>
<p class="muted">by ${authorOf(one.changedBy)}</p>
${one.operation !== "delete" && next !== undefined && changes(one.row.data.text, next.data.text)}
<form method="post" action="${path}/_restore">${proofField(proof)}<input type="hidden" name="version" value="${one.version}"><button type="submit">${one.operation === "delete" ? "Bring the row back" : "Restore what was before"}</button></form>
<p class="muted small">Version ${one.version} is kept until ${timeHtml(timeText(one.expiresAt))}.</p></li>\n`
}

const historyView = (path: string, shown: ShownRow, proof: string): Html => {
  const { isDeleted, row, versions } = shown
  return html`${versions.length === 0 ? html`<p>Nothing was changed since the row was added, or its older versions have expired.</p>` : html`<ol class="versions">${versions.map((_, nth) => version(path, shown, nth, proof))}</ol>`}
${!isDeleted && html`<p class="muted">Added ${timeHtml(timeText(row.createdAt))}.</p>`}`
}

/** One row: its fields or JSON to edit, or its history. */
export const rowPage = (input: {
  readonly shown: ShownRow
  readonly view: View
  readonly proof: string
  readonly result?: HtmlValue
  readonly problem?: string | undefined
  readonly typed?: Typed | undefined
  readonly typedJson?: string | undefined
}): Html => {
  const { problem, proof, result, shown, typed, typedJson, view } = input
  const { isDeleted, row, table } = shown
  const path = `/tables/${table}/${row.id}`
  const author = shown.current?.changedBy
  return accountPage({
    title: `${table} ${row.id.slice(0, 8)}`,
    current: "/tables",
    width: "wide",
    styles: ["console.css", "row.css"],
    main: html`<header class="console-head"><div><p class="crumbs"><a href="/tables">Tables</a> / <a href="/tables/${table}">${table}</a></p>
<h1>Row <code>${row.id.slice(0, 8)}</code></h1>
<p class="muted">${isDeleted ? "This row was deleted." : html`Changed ${timeHtml(timeText(row.updatedAt))}${author !== null && author !== undefined && html` by ${authorOf(author)}`}`} · <code class="row-id">${row.id}</code></p></div>
${
  !isDeleted &&
  html`<div class="console-actions"><form method="post" action="${path}/_duplicate">${proofField(proof)}<button type="submit">Duplicate</button></form>
${shareForm(path, proof)}
${question({
  button: "Delete",
  text: "Delete this row? It can be brought back from its history until its versions expire.",
  form: html`<form method="post" action="${path}/_delete">${proofField(proof)}<button class="danger" type="submit">Delete the row</button></form>`
})}</div>`
}</header>
${tabs(path, view, isDeleted)}${!isDeleted && walk(table, shown.neighbours)}
${notice(result)}${fault(problem)}
${view === "history" ? historyView(path, shown, proof) : view === "json" ? jsonView(path, row, proof, typedJson) : fieldsView(path, row, proof, typed)}`
  })
}
