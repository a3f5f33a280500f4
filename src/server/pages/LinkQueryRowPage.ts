import { decodeString } from "../../domain/json/Lexemes.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { indented, members, type Member } from "../../domain/json/Members.ts"
import { systemFields } from "../../domain/Row.ts"
import { html, type Html } from "../doors/Html.ts"
import type { FoundLink } from "../links/Links.ts"
import { kindOf, lineOf } from "./console/Cells.ts"
import { timeHtml } from "./console/Frame.ts"
import { kindWords } from "./console/RowForm.ts"
import { queryAddress, queryFrame, validity, viewTabs, type QueryView } from "./LinkQueryPage.ts"

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
