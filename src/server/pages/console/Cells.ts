import { withLineFeeds } from "../../../domain/RowMerge.ts"
import { shorten } from "../../../domain/json/JsonIssue.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { systemFields, timeText, type Row } from "../../../domain/Row.ts"
import { Pace, type Turns } from "../../../domain/Turns.ts"
import { html, type Html } from "../../doors/Html.ts"
import { timeHtml } from "./Frame.ts"

/** What is sent back for a text: browsers send every line ending as CR LF, and HTML has neither NUL nor half a surrogate. */
export const asSent = (text: string): string => withLineFeeds(text.toWellFormed().replaceAll("\0", "\ufffd"))

/** Whether a text comes back from a form as it is, but for its line endings. */
export const survivesForms = (text: string): boolean => withLineFeeds(text) === asSent(text)

/** A cell shows this much of a value; the row's page has all of it. */
const maxCell = 160

/** A grid shows this many of its rows' own fields; a row's page has all of them. */
const maxColumns = 40

/** The values of a table's rows that a grid shows. */
export interface Cells<Shown = Row> {
  readonly columns: ReadonlyArray<string>
  /** How many fields have no column. */
  readonly hidden: number
  readonly rows: ReadonlyArray<{ readonly row: Shown; readonly values: ReadonlyMap<string, string> }>
}

/**
 * What a grid shows of rows, in turns: their own fields, in the order in which they first appear. Fields that the service sets
 * have no such column; where `data` holds them, they are among the values.
 */
export function* cellsOf<Shown extends { readonly data: JsonText }>(rows: ReadonlyArray<Shown>): Turns<Cells<Shown>> {
  const pace = new Pace()
  const columns = new Set<string>()
  const others = new Set<string>()
  const found: Array<Cells<Shown>["rows"][number]> = []
  for (const row of rows) {
    const values = new Map<string, string>()
    for (const { name, value } of members(row.data)) {
      const isSystem = systemFields.has(name)
      if (!isSystem && columns.size < maxColumns) columns.add(name)
      if (isSystem || columns.has(name)) values.set(name, value)
      else if (others.size < 1000) others.add(name)
    }
    found.push({ row, values })
    // Members cost more than their characters.
    yield* pace.worked(8 * row.data.text.length)
  }
  return { columns: [...columns], hidden: others.size, rows: found }
}

/** The kind of a value, from its JSON text. */
export type Kind = "text" | "number" | "boolean" | "null" | "json"

export const kindOf = (value: string): Kind => {
  switch (value[0]) {
    case '"':
      return "text"
    case "t":
    case "f":
      return "boolean"
    case "n":
      return "null"
    case "{":
    case "[":
      return "json"
    default:
      return "number"
  }
}

/** A value on one line, as much of it as a cell has room for. Numbers keep every digit that is shown. */
export const lineOf = (value: string, most = maxCell): Html => {
  switch (kindOf(value)) {
    case "text": {
      const text = decodeString(value)
      return text === "" ? html`<em class="muted">empty</em>` : html`${shorten(text, most)}`
    }
    case "null":
      return html`<em class="muted">null</em>`
    case "json":
      return html`<code>${shorten(value, most)}</code>`
    default:
      return html`${shorten(value, most)}`
  }
}

/** Whether the script may put a value into a form: all of it is shown, and it comes back as it is. */
const isEditable = (value: string, kind: Kind): boolean =>
  value.length <= maxCell && kind !== "json" && (kind !== "text" || survivesForms(decodeString(value)))

/** The cell of a value; empty where a row has no such field. */
export const cell = (value: string | undefined): Html => {
  if (value === undefined) return html`<td></td>`
  const kind = kindOf(value)
  return html`<td data-kind="${kind}"${isEditable(value, kind) && html` data-value="${value}"`}>${lineOf(value)}</td>`
}

/** The first cell of a row, which leads to all of it: the first column's value, or the row's id where it has none. */
export const nameCell = (
  href: string,
  columns: ReadonlyArray<string>,
  id: string,
  values: ReadonlyMap<string, string>
): Html => {
  const value = columns[0] === undefined ? undefined : values.get(columns[0])
  const name = value === undefined ? html`<span class="muted">${id.slice(0, 8)}</span>` : lineOf(value, 80)
  return html`<th scope="row"><a href="${href}">${name}</a></th>`
}

/** The cells of the fields that the service sets. */
export const systemCells = ({ createdAt, id, updatedAt }: Row): Html =>
  html`<td class="system"><code>${id}</code></td><td class="system">${timeHtml(timeText(createdAt))}</td><td class="system">${timeHtml(timeText(updatedAt))}</td>`
