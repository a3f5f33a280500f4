import { decodeString } from "../../domain/json/Lexemes.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { indented, members, type Member } from "../../domain/json/Members.ts"
import { systemFields, timeText } from "../../domain/Row.ts"
import { html, type Html } from "../doors/Html.ts"
import type { FoundLink } from "../links/Links.ts"
import { kindOf, lineOf, cell, cellsOf, nameCell, type Cells } from "./console/Cells.ts"
import { timeHtml } from "./console/Frame.ts"
import { kindWords } from "./console/RowForm.ts"
import { numberText, plural } from "../../domain/Amounts.ts"
import { noCursor } from "../../domain/query/Cursor.ts"
import { Pace, type Turns } from "../../domain/Turns.ts"
import type { QueryContent, QueryTarget } from "../links/LinkContent.ts"
import { chips, heads, systemColumns } from "./console/GridPage.ts"
import { page } from "./Page.ts"
import { addressOf } from "./PrivatePage.ts"

/** A value with all of its characters. */
const whole = (value: string): Html => {
  switch (kindOf(value)) {
    case "text": {
      const text = decodeString(value)
      return text === "" ? lineOf(value) : html`<div class="value">${text}</div>`
    }
    case "json":
      // HTML drops a line feed at the beginning of the element.
      return html`<pre class="value">\n${indented(value)}</pre>`
    default:
      return lineOf(value, value.length)
  }
}

const field = ({ name, value }: Member): Html => {
  const isTime = systemFields.has(name) && name !== "id"
  return html`<dt>${name}${!systemFields.has(name) && html` <span class="muted small">${kindWords(kindOf(value))}</span>`}</dt><dd>${isTime ? timeHtml(decodeString(value)) : whole(value)}</dd>\n`
}

/** One row of a link's query, read-only, with every field that the query gives of it: its own first. */
export const queryRowPage = (input: {
  readonly link: FoundLink
  readonly table: string
  readonly id: string
  /** The row as its readers see it. */
  readonly row: JsonText
  readonly path: string
  readonly view: QueryView
  /** Of the page of rows that leads here. */
  readonly cursor: string | undefined
}): Html => {
  const { cursor, id, link, path, row, table, view } = input
  const fields = members(row)
  const [system, own] = [true, false].map((wanted) => fields.filter(({ name }) => systemFields.has(name) === wanted))
  return queryFrame(
    `${table} ${id.slice(0, 8)}`,
    ["grid.css", "row.css"],
    html`<header class="console-head"><div><p class="crumbs"><a href="${queryAddress(path, { cursor })}">All rows of ${table}</a></p>
<h1>Row <code>${id.slice(0, 8)}</code></h1></div>
<div class="console-actions"><a class="button" href="${queryAddress(`${path}/download`, { row: id })}" download>Download</a></div></header>
${validity(link)}
${viewTabs(path, { row: id, cursor, view }, ["Fields", "JSON"])}
${view === "json" ? html`<pre tabindex="0" role="region" aria-label="The row as JSON">\n${indented(row.text)}</pre>` : html`<dl class="whole">${[...own!, ...system!].map(field)}</dl>`}`
  )
}

type QueryView = "table" | "json"

interface QueryAddress {
  readonly cursor?: string | undefined
  readonly view?: QueryView | undefined
  readonly row?: string | undefined
}

const queryAddress = (path: string, { cursor, row, view }: QueryAddress): string =>
  addressOf(path, { row, view: view === "json" ? view : undefined, cursor })

const queryFrame = (title: string, styles: ReadonlyArray<string>, main: Html): Html =>
  page({
    title: title.slice(0, 100),
    robots: "noindex",
    styles: ["console.css", ...styles],
    scripts: ["console.js", "grid.js"],
    main: html`<main class="wide full">${main}</main>`
  })

const validity = ({ expiresAt }: FoundLink): Html =>
  html`<p class="muted">Anyone with this link can view and download this until ${timeHtml(timeText(expiresAt.getTime()))}.</p>`

const viewTabs = (path: string, address: QueryAddress, names: readonly [table: string, json: string]): Html => {
  const { view = "table" } = address
  const tab = (one: QueryView, name: string) =>
    html`<li><a href="${queryAddress(path, { ...address, view: one })}"${one === view && html` aria-current="page"`}>${name}</a></li>`
  return html`<nav class="row-tabs" aria-label="Views"><ul>${tab("table", names[0])}${tab("json", names[1])}</ul></nav>`
}

/** JSON of this many characters is shown on a page; the download has all of it. */
const maxJson = 1_000_000

const systemCell = (field: string, value: string | undefined): Html => {
  const text = value === undefined ? "" : decodeString(value)
  return html`<td class="system">${text !== "" && (field === "id" ? html`<code>${text}</code>` : timeHtml(text))}</td>`
}

function* tableView(
  cells: Cells<unknown>,
  { sort, table }: QueryTarget,
  rowAddress: (id: string) => string
): Turns<Html> {
  const { columns, rows } = cells
  // All of them, unless the query chooses.
  const system = systemColumns.filter(([field]) => rows[0]?.values.has(field))
  const pace = new Pace()
  const lines: Array<Html> = []
  for (const { values } of rows) {
    const id = decodeString(values.get("id")!)
    const line = html`<tr>${nameCell(rowAddress(id), columns, id, values)}${columns.slice(1).map((column) => cell(values.get(column)))}${system.map(([field]) => systemCell(field, values.get(field)))}</tr>\n`
    lines.push(line)
    yield* pace.worked(8 * line.toString().length)
  }
  return html`<div data-grid><div class="grid-frame" tabindex="0" role="region" aria-label="Rows of ${table}"><table class="grid">
<thead><tr>${heads(columns, system, sort)}</tr></thead>
<tbody>
${lines}</tbody></table></div></div>`
}

function* jsonView(rows: ReadonlyArray<JsonText>): Turns<Html> {
  const pace = new Pace()
  const shown: Array<Html> = []
  for (const { text } of rows) {
    if (pace.done > maxJson) break
    const pretty = indented(text)
    shown.push(html`<pre>\n${pretty}</pre>\n`)
    yield* pace.worked(pretty.length)
  }
  const rest = rows.length - shown.length
  return html`<div class="json-rows" tabindex="0" role="region" aria-label="Rows as JSON">${shown}</div>
${rest > 0 && html`<p class="muted">${plural(rest, "more row")} of this page ${rest === 1 ? "is" : "are"} in the download.</p>`}`
}

/** The rows of a link's query, a page at a time, in turns: as the console's grid, read-only, or as JSON. */
export function* queryPage(input: {
  readonly link: FoundLink
  readonly content: QueryContent
  /** How many rows there are on all pages. */
  readonly count: number
  readonly path: string
  readonly view: QueryView
  readonly cursor: string | undefined
}): Turns<Html> {
  const { content, count, cursor, link, path, view } = input
  const { hasMore, nextCursor, rows, target } = content
  const { filter, search, sort, table } = target
  const cells = yield* cellsOf(rows.map((data) => ({ data })))
  const isCut = cursor !== undefined || hasMore
  const rowAddress = (row: string) => queryAddress(path, { row, cursor })
  const body =
    rows.length === 0
      ? html`<p class="empty">No rows match this query.</p>`
      : view === "json"
        ? yield* jsonView(rows)
        : yield* tableView(cells, target, rowAddress)
  return queryFrame(
    table,
    ["grid.css"],
    html`<header class="console-head"><div><h1>${table}</h1>
<p class="muted">${isCut ? `${numberText(rows.length)} of ${plural(count, "row")}` : plural(count, "row")}${cells.hidden > 0 && html` · ${plural(cells.hidden, "more field")} on the rows’ own pages`}</p></div>
<div class="console-actions"><a class="button" href="${queryAddress(`${path}/download`, { cursor })}" download>Download</a></div></header>
${validity(link)}
${chips({ filter: filter?.text, search, sort })}
${viewTabs(path, { view, cursor }, ["Table", "JSON"])}
${body}
<nav class="pages" aria-label="Pages"><ul>${cursor !== undefined && html`<li><a href="${queryAddress(path, { view })}">First page</a></li>`}${nextCursor !== undefined && html`<li><a href="${queryAddress(path, { view, cursor: nextCursor })}" rel="next">Next rows</a></li>`}</ul>${hasMore && nextCursor === undefined && html`<p class="muted small">${noCursor}</p>`}</nav>`
  )
}
