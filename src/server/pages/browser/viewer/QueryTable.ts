import type { JsonText } from "../../../../domain/json/JsonText.ts"
import { cellOf, compareCells, type Cell } from "./Cells.ts"
import { cellView } from "./CellView.ts"
import { button, element } from "./Dom.ts"
import { memberTexts } from "./JsonParts.ts"

type Direction = "ascending" | "descending"

// Rows are laid out when they come near the screen: thousands of cells at once would hold up the first of them.
const CHUNK = 100

/** A table of rows, one column a field in the order in which fields first appear, to be sorted and searched. */
export const queryTable = (
  rows: ReadonlyArray<JsonText>,
  onShown: (count: number) => void
): { readonly root: HTMLElement; readonly search: (words: string) => void } => {
  const members = rows.map((row) => memberTexts(row.text))
  const columns = [...new Set(members.flatMap((row) => [...row.keys()]))]
  const cells = members.map((row) => columns.map((column) => cellOf(row.get(column))))
  const body = element("tbody")
  const end = element("div", { class: "table-end" })
  let sorted: { readonly column: number; readonly direction: Direction } | undefined
  let words = ""
  let shown: ReadonlyArray<ReadonlyArray<Cell>> = cells
  let drawn = 0

  const drawMore = () => {
    const more = shown.slice(drawn, drawn + CHUNK)
    drawn += more.length
    body.append(...more.map((row) => element("tr", {}, ...row.map(cellView))))
  }
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting) || drawn >= shown.length) return
      drawMore()
      // Observing anew reports again if the end is still in sight.
      observer.unobserve(end)
      observer.observe(end)
    },
    { rootMargin: "1200px" }
  )
  const draw = () => {
    const wanted = words.toLowerCase()
    shown = wanted === "" ? cells : cells.filter((row) => row.some(({ searched }) => searched.includes(wanted)))
    if (sorted !== undefined) {
      const { column, direction } = sorted
      shown = shown.toSorted((a, b) => order(a[column], b[column], direction))
    }
    drawn = 0
    body.replaceChildren()
    drawMore()
    observer.unobserve(end)
    observer.observe(end)
    onShown(shown.length)
  }
  const heads = columns.map((column, index) => {
    const head = element("th", { scope: "col", class: numeric(cells, index) ? "number" : undefined })
    const press = () => {
      const next = nextDirection(sorted?.column === index ? sorted.direction : undefined)
      sorted = next === undefined ? undefined : { column: index, direction: next }
      for (const other of heads) other.removeAttribute("aria-sort")
      if (next !== undefined) head.setAttribute("aria-sort", next)
      draw()
    }
    head.append(button(column, press, { class: "sort" }))
    return head
  })
  const table = element("table", { "aria-rowcount": String(rows.length + 1) })
  table.append(element("caption", { class: "visually-hidden" }, "The rows of this query"))
  table.append(element("thead", {}, element("tr", {}, ...heads)), body)
  draw()
  return {
    root: element("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Rows" }, table, end),
    search: (next) => {
      words = next
      draw()
    }
  }
}

const nextDirection = (direction: Direction | undefined): Direction | undefined =>
  direction === undefined ? "ascending" : direction === "ascending" ? "descending" : undefined

const order = (a: Cell | undefined, b: Cell | undefined, direction: Direction): number => {
  if (a === undefined || b === undefined) return 0
  const missing = Number(a.kind === "missing") - Number(b.kind === "missing")
  if (missing !== 0) return missing
  return direction === "ascending" ? compareCells(a, b) : compareCells(b, a)
}

const numeric = (cells: ReadonlyArray<ReadonlyArray<Cell>>, column: number): boolean => {
  const kinds = new Set(cells.map((row) => row[column]?.kind))
  kinds.delete("missing")
  kinds.delete("null")
  return kinds.size === 1 && kinds.has("number")
}
