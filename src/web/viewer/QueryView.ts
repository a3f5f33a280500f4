import type { JsonText } from "../../domain/json/JsonText.ts"
import { indented, readItems } from "../../domain/json/Members.ts"
import { cellOf, compareCells, type Cell } from "./Cells.ts"
import { button, element, saveFile } from "./Dom.ts"
import { explain, loadMore, type QueryLink } from "./LinkClient.ts"
import { memberTexts } from "../../domain/RowMerge.ts"
import { stringOf } from "../../domain/TypedRow.ts"
import { Notice } from "./SaveBar.ts"
import { header, ServerClock } from "./ViewerHeader.ts"

const counted = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`

/** How many rows there are, whether there are more, and how many of them the search shows. */
const summary = ({ has_more, rows }: QueryLink, shown: number): string => {
  const found =
    shown === rows.length ? counted(rows.length) : `${shown.toLocaleString("en")} of ${counted(rows.length)}`
  return has_more ? `${found}. There are more.` : found
}

const jsonView = (rows: QueryLink["rows"]): HTMLElement =>
  element(
    "div",
    { class: "json-rows", tabindex: "0", role: "region", "aria-label": "Rows as JSON" },
    ...rows.map((row) => element("pre", {}, indented(row.text)))
  )

/** The page of a query's result, read-only. */
export const openQuery = (root: HTMLElement, first: QueryLink): void => {
  let data = first
  const notice = new Notice()
  const rowsText = () => `{"rows":[${data.rows.map(({ text }) => text).join(",")}],"has_more":${data.has_more}}`
  const save = () => saveFile(`${data.table.replace(/[^\w.-]+/g, "_")}.json`, rowsText(), "application/json")
  const head = header(data, new ServerClock(data.server_time), [], () => {
    const text = "This link has expired. The loaded rows stay here until you close the page."
    notice.say("warning", text, button("Download the loaded rows", save))
  })
  head.start()
  if (data.rows.length === 0) {
    const empty = element("p", { class: "empty" }, "No rows match this query.")
    return root.replaceChildren(head.root, notice.root, empty)
  }
  const count = element("p", { class: "count", role: "status" })
  const tableOf = (sorted?: Sorted) =>
    queryTable(data.rows, (shown) => (count.textContent = summary(data, shown)), sorted)
  let table = tableOf()
  const search = element("input", { type: "search", placeholder: "Search all cells", "aria-label": "Search all cells" })
  search.addEventListener("input", () => table.search(search.value))
  const body = element("div", { class: "query-body" }, table.root)
  let json: HTMLElement | undefined
  const show = (asTable: boolean) => {
    body.replaceChildren(asTable ? table.root : (json ??= jsonView(data.rows)))
    search.disabled = !asTable
    tableTab.setAttribute("aria-pressed", String(asTable))
    jsonTab.setAttribute("aria-pressed", String(!asTable))
  }
  const tableTab = button("Table", () => show(true))
  const jsonTab = button("JSON", () => show(false))
  const tabs = element(
    "div",
    { class: "mode-tabs", role: "group", "aria-label": "Show the rows as" },
    tableTab,
    jsonTab
  )
  const more = button("Load more rows", async () => {
    more.disabled = true
    const loaded = await loadMore(data.next_cursor ?? "")
    more.disabled = false
    if (loaded.kind !== "ok") return notice.say("warning", explain(loaded))
    notice.clear()
    data = { ...loaded.value, rows: [...data.rows, ...loaded.value.rows] }
    more.hidden = data.next_cursor === undefined
    const isTable = json === undefined || !body.contains(json)
    json = undefined
    table = tableOf(table.sorted())
    table.search(search.value)
    show(isTable)
  })
  more.hidden = data.next_cursor === undefined
  const bar = element("div", { class: "query-bar" }, tabs, search, count, more)
  show(true)
  root.replaceChildren(head.root, notice.root, bar, body)
}

type Direction = "ascending" | "descending"

/** By which column a table is sorted, and how. */
interface Sorted {
  readonly name: string
  readonly direction: Direction
}

// Rows are added when they come near the screen: thousands of cells at once would delay the first of them.
const CHUNK = 100

const LONG = 160
const SHORT = 40

const chip = (text: string): string => {
  const object = text.startsWith("{")
  const count = object ? memberTexts(text).size : readItems(text).length
  return object ? `{ ${count} ${count === 1 ? "field" : "fields"} }` : `[ ${count} ${count === 1 ? "item" : "items"} ]`
}

/** Something short that opens to the whole. */
const opening = (short: string, whole: () => string, name: string): HTMLElement => {
  const details = element("details", { class: name }, element("summary", {}, short))
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(element("pre", { class: "value" }, whole()))
  })
  return details
}

/** The element that shows a cell. Numbers keep the digits they are stored with. */
const cellView = ({ kind, text }: Cell): HTMLTableCellElement => {
  const cell = element("td", { class: kind })
  if (text === undefined) return cell
  if (kind === "nested") cell.append(opening(chip(text), () => indented(text), "chip"))
  else if (kind !== "string") cell.append(text)
  else {
    const characters = stringOf(text) ?? ""
    if (characters.length <= SHORT) cell.classList.add("short")
    if (characters.length <= LONG) cell.append(characters)
    else cell.append(opening(characters.slice(0, LONG) + "…", () => characters, "long"))
  }
  return cell
}

/** A table of rows that can be sorted and searched, one column per field in order of first appearance. */
const queryTable = (
  rows: ReadonlyArray<JsonText>,
  onShown: (count: number) => void,
  first: Sorted | undefined
): {
  readonly root: HTMLElement
  readonly search: (words: string) => void
  readonly sorted: () => Sorted | undefined
} => {
  const members = rows.map((row) => memberTexts(row.text))
  const columns = [...new Set(members.flatMap((row) => [...row.keys()]))]
  const cells = members.map((row) => columns.map((column) => cellOf(row.get(column))))
  const body = element("tbody")
  const end = element("div", { class: "table-end" })
  let sorted = first
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
      const { direction, name } = sorted
      const column = columns.indexOf(name)
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
    const head = element("th", {
      scope: "col",
      class: numeric(cells, index) ? "number" : undefined,
      "aria-sort": first?.name === column ? first.direction : undefined
    })
    const press = () => {
      const next = nextDirection(sorted?.name === column ? sorted.direction : undefined)
      sorted = next === undefined ? undefined : { name: column, direction: next }
      for (const other of heads) other.removeAttribute("aria-sort")
      if (next !== undefined) head.setAttribute("aria-sort", next)
      draw()
    }
    head.append(button(column, press, { class: "sort" }))
    return head
  })
  const table = element("table", { "aria-rowcount": String(rows.length + 1) })
  table.append(element("caption", { class: "visually-hidden" }, "Rows of this query"))
  table.append(element("thead", {}, element("tr", {}, ...heads)), body)
  draw()
  return {
    root: element("div", { class: "table-frame", tabindex: "0", role: "region", "aria-label": "Rows" }, table, end),
    search: (next) => {
      words = next
      draw()
    },
    sorted: () => sorted
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
