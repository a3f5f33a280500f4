import { shorten } from "../../../domain/json/JsonIssue.ts"
import { parseSort } from "../../../domain/Query.ts"
import { html, type Html } from "../../doors/Html.ts"

/** The fields that the service sets, with what their columns are called. They come last. */
export const systemColumns = [
  ["id", "id"],
  ["created_at", "created"],
  ["updated_at", "updated"]
] as const

interface Column {
  readonly field: string
  readonly label: string
  readonly style?: "first" | "system" | undefined
}

/**
 * The head of a column, which says whether the rows are sorted by it. With `address`, which gives the address of another sort,
 * its link sorts upwards, then downwards, then no more.
 */
const head = (
  { field, label, style }: Column,
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
  html`${columns.length === 0 ? html`<th scope="col" class="first">row</th>` : columns.map((field, nth) => head({ field, label: field, style: nth === 0 ? "first" : undefined }, sorted, address))}${system.map(([field, label]) => head({ field, label, style: "system" }, sorted, address))}`
