import { shorten } from "../../../domain/json/JsonIssue.ts"
import { parseSort } from "../../../domain/Query.ts"
import { html, type Html, type HtmlValue } from "../../doors/Html.ts"
import { comparisons, comparisonsOf, withoutComparison, type Ask } from "./Ask.ts"
import { lineOf, cell, nameCell, systemCells, type Cells } from "./Cells.ts"
import { numberText, plural } from "../../../domain/Amounts.ts"
import { accountPage, fault, notice, proofField } from "./Frame.ts"
import { addressOf } from "../PrivatePage.ts"
import { copyAs, shareForm } from "./Sharing.ts"

/** The fields that the service sets, with what their columns are called. They come last. */
export const systemColumns = [
  ["id", "id"],
  ["created_at", "created"],
  ["updated_at", "updated"]
] as const

/**
 * The head of a column, which says whether the rows are sorted by it. With `address`, which gives the address of another sort,
 * its link sorts upwards, then downwards, then no more.
 */
const head = (
  field: string,
  label: string,
  style: "first" | "system" | undefined,
  sorted: string | undefined,
  address?: (sort: string | undefined) => string
): Html => {
  const sort = sorted === undefined ? undefined : parseSort(sorted)
  const isSorted = sort?.field === field
  // A field whose name begins with - is only told from a descending sort by one more.
  const upwards = field.startsWith("-") ? undefined : field
  const next = !isSorted ? (upwards ?? `-${field}`) : sort.descending ? undefined : `-${field}`
  const direction = isSorted ? (sort.descending ? "descending" : "ascending") : undefined
  const mark = direction === undefined ? "" : direction === "ascending" ? " ↑" : " ↓"
  const shown = shorten(label, 60) + mark
  return html`<th scope="col" data-field="${field}"${direction !== undefined && html` aria-sort="${direction}"`}${style !== undefined && html` class="${style}"`}>${address === undefined ? shown : html`<a href="${address(next)}">${shown}</a>`}</th>`
}

/** The heads of a table's columns: its rows' own fields, then those that the service sets. */
export const heads = (
  columns: ReadonlyArray<string>,
  system: ReadonlyArray<readonly [field: string, label: string]>,
  sorted: string | undefined,
  address?: (sort: string | undefined) => string
): Html =>
  html`${columns.length === 0 ? html`<th scope="col" class="first">row</th>` : columns.map((field, nth) => head(field, field, nth === 0 ? "first" : undefined, sorted, address))}${system.map(([field, label]) => head(field, label, "system", sorted, address))}`

const said = new Map<string, string>(comparisons)

const sortWords = (sort: string): Html => {
  const { descending, field } = parseSort(sort)
  return html`sorted by <strong>${shorten(field, 60)}</strong>${descending && ", descending"}`
}

/**
 * What a query asks for in words: its search, each comparison of its filter, and its sort. With `address`, which gives the
 * address of the query with some of it changed, each can be removed. The filter must be valid: one of more comparisons than a
 * valid one has would fill pages.
 */
export const chips = (
  { filter, search, sort }: Partial<Ask>,
  address?: (changed: Partial<Ask>) => string
): Html | false => {
  const chip = (words: Html, name: string, without: () => Partial<Ask>) =>
    html`<li class="chip"><span>${words}</span>${address !== undefined && html`<a href="${address(without())}">Remove<span class="visually-hidden"> ${name}</span></a>`}</li>`
  const all = [
    ...(search === undefined
      ? []
      : [chip(html`has <strong>${shorten(search, 60)}</strong>`, "the search", () => ({ search: undefined }))]),
    ...comparisonsOf(filter).map((one) =>
      chip(
        html`<strong>${shorten(one.field, 60)}</strong> ${said.get(one.operator) ?? one.operator} ${lineOf(one.value, 60)}`,
        `the filter on ${one.field}`,
        () => ({ filter: withoutComparison(filter, one) })
      )
    ),
    ...(sort === undefined ? [] : [chip(sortWords(sort), "the sort", () => ({ sort: undefined }))])
  ]
  return all.length > 0 && html`<ul class="chips" aria-label="Filters">${all}</ul>`
}

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
  const address = (changed: Partial<Ask>) => addressOf(path, { ...ask, cursor: undefined, ...changed })
  const isFiltered = ask.filter !== undefined || ask.search !== undefined
  return accountPage(
    table,
    { current: "/tables", width: "full", styles: ["grid.css"], scripts: ["grid.js"] },
    html`<header class="console-head"><div><p class="crumbs"><a href="/tables">Tables</a></p>
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
  )
}
