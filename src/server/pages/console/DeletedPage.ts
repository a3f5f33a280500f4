import { timeText } from "../../../domain/Row.ts"
import type { Version } from "../../../domain/Version.ts"
import { html, type Html } from "../../doors/Html.ts"
import { shorten } from "../../../domain/json/JsonIssue.ts"
import { authorOf } from "./Authors.ts"
import { accountPage, proofField, timeHtml } from "./Frame.ts"

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
  return accountPage({
    title: "Deleted rows",
    current: "/activity",
    width: "wide",
    styles: ["console.css"],
    main: html`<header class="console-head"><div><h1>Deleted rows</h1><p class="muted">Rows that can be brought back, last deleted first.</p></div></header>
<nav class="row-tabs" aria-label="Views"><ul><li><a href="/activity">Changes</a></li><li><a href="/activity/deleted" aria-current="page">Deleted rows</a></li></ul></nav>
<form class="filter" method="get" action="/activity/deleted">
<div><label for="deleted-table">Table</label><select id="deleted-table" name="table">${tables.map((name) => html`<option value="${name}"${name === table && " selected"}>${name}</option>`)}</select></div>
<button type="submit">Show</button></form>
${rows.length === 0 ? html`<p class="empty">No deleted row is kept${table !== undefined && html` of <strong>${table}</strong>`}.</p>` : html`<ol class="writes">${rows.map((row) => item(row, proof))}</ol>`}
${next !== undefined && html`<nav class="pages" aria-label="Pages"><ul><li><a rel="next" href="/activity/deleted?table=${table}&amp;cursor=${next}">More rows</a></li></ul></nav>`}`
  })
}
