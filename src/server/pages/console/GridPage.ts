import { numberText, plural } from "../../../domain/Amounts.ts"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { askQuery, comparisons, type Ask } from "./Ask.ts"
import { cell, nameCell, systemCells, type Cells } from "./Cells.ts"
import { chips } from "./Chips.ts"
import { accountPage, fault, notice, proofField } from "./Frame.ts"
import { copyAs } from "./CopyAs.ts"
import { heads, systemColumns } from "./GridHead.ts"
import { shareForm } from "./SharePage.ts"

const hidden = (name: string, value: string | undefined): Html | false =>
  value !== undefined && html`<input type="hidden" name="${name}" value="${value}">`

const searchForm = (
  path: string,
  ask: Ask
): Html => html`<form class="filter" method="get" action="${path}" role="search">
${hidden("filter", ask.filter)}${hidden("sort", ask.sort)}
<div><label for="search">Search</label><input id="search" name="search" type="search" value="${ask.search ?? ""}" maxlength="200"></div>
<button type="submit">Search</button>
</form>`

const filterForm = (
  path: string,
  ask: Ask,
  columns: ReadonlyArray<string>
): Html => html`<form class="filter" method="get" action="${path}">
${hidden("filter", ask.filter)}${hidden("search", ask.search)}${hidden("sort", ask.sort)}
<div><label for="filter-field">Field</label><input id="filter-field" name="field" list="filter-fields" required autocomplete="off" autocapitalize="none" spellcheck="false"></div>
<div><label for="filter-operator">Comparison</label><select id="filter-operator" name="operator">${comparisons.map(([operator, words]) => html`<option value="${operator}">${words}</option>`)}</select></div>
<div><label for="filter-value">Value</label><input id="filter-value" name="value" autocomplete="off" autocapitalize="none" spellcheck="false" placeholder="text, 12, true"></div>
<button type="submit">Filter</button>
<datalist id="filter-fields">${columns.map((name) => html`<option value="${name}"></option>`)}</datalist>
</form>`

const rowOf = (path: string, columns: ReadonlyArray<string>, { row, values }: Cells["rows"][number]): Html =>
  html`<tr data-id="${row.id}"><td class="pick"><label><input type="checkbox" name="id" value="${row.id}"><span class="visually-hidden">Select ${row.id.slice(-12)}</span></label></td>${nameCell(`${path}/${row.id}`, columns, row.id, values)}${columns.slice(1).map((column) => cell(values.get(column)))}${systemCells(row)}</tr>\n`

/** A table's rows, a page at a time. */
export const gridPage = (input: {
  readonly table: string
  readonly ask: Ask
  readonly cells: Cells
  /** How many rows match. */
  readonly count: number
  readonly nextCursor: string | undefined
  /** Why there is no way on although there are more rows. */
  readonly note: string | undefined
  readonly proof: string
  readonly baseUrl: string
  readonly result: HtmlValue
  readonly problem: string | undefined
}): Html => {
  const { ask, cells, count, nextCursor, note, problem, proof, result, table } = input
  const path = `/tables/${table}`
  const { columns, rows } = cells
  const address = (changed: Partial<Ask>) => path + askQuery({ ...ask, cursor: undefined, ...changed })
  const isFiltered = ask.filter !== undefined || ask.search !== undefined
  return accountPage({
    title: table,
    current: "/tables",
    width: "full",
    styles: ["console.css", "grid.css"],
    scripts: ["grid.js"],
    main: html`<header class="console-head"><div><p class="crumbs"><a href="/tables">Tables</a></p>
<h1>${table}</h1>
<p class="muted">${plural(count, "row")}${isFiltered && (count === 1 ? " matches" : " match")}${cells.hidden > 0 && html` · ${plural(cells.hidden, "more field")} on the rows’ own pages`}</p></div>
<div class="console-actions"><a class="button primary" href="${path}/_add">Add a row</a><a class="button" href="/tables/_import?table=${table}">Import</a>
<details class="menu"><summary class="button">Export</summary><ul class="card"><li><a href="${path}/_export?format=json" download>JSON, all rows</a></li><li><a href="${path}/_export?format=csv" download>CSV, all rows</a></li></ul></details>
${rows.length > 0 && shareForm(path, proof, ask)}${copyAs(table, ask, input.baseUrl)}</div></header>
${notice(result)}${fault(problem && html`${problem} <a href="${path}">Show all rows</a>`)}
<div class="console-bar">${searchForm(path, ask)}${filterForm(path, ask, [...columns, ...systemColumns.map(([name]) => name)])}${chips(problem === undefined ? ask : { sort: ask.sort }, address)}</div>
${
  rows.length === 0
    ? html`<p class="empty">${isFiltered ? html`No rows match. <a href="${path}">Show all rows</a>.` : "This page of the table has no rows."}</p>`
    : html`<form method="post" action="${path}/_selected" data-grid data-proof="${proof}" data-path="${path}" data-filter="${ask.filter ?? "{}"}"${ask.sort !== undefined && html` data-sort="${ask.sort}"`}>
${proofField(proof)}
<div class="selection"><button type="submit" name="do" value="delete">Delete selected…</button><button type="submit" name="do" value="set">Set a field…</button></div>
<div class="grid-frame" tabindex="0" role="region" aria-label="Rows of ${table}"><table class="grid">
<thead><tr><th class="pick"><span class="visually-hidden">Selection</span></th>${heads(columns, systemColumns, ask.sort, (sort) => address({ sort }))}</tr></thead>
<tbody>
${rows.map((row) => rowOf(path, columns, row))}</tbody></table></div>
</form>`
}
<nav class="pages" aria-label="Pages"><ul>${ask.cursor !== undefined && html`<li><a href="${address({})}">First page</a></li>`}${nextCursor !== undefined && html`<li><a href="${address({ cursor: nextCursor })}" rel="next">Next ${numberText(100)} rows</a></li>`}</ul>${note !== undefined && html`<p class="muted small">${note}</p>`}</nav>`
  })
}
