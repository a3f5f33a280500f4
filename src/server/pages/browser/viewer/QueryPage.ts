import { indented } from "../../../../domain/json/Indent.ts"
import { ServerClock } from "./Clock.ts"
import { button, element, saveFile } from "./Dom.ts"
import { header } from "./Header.ts"
import type { QueryLink } from "./LinkData.ts"
import { Notice } from "./Notice.ts"
import { queryTable } from "./QueryTable.ts"

const counted = (count: number): string => `${count.toLocaleString("en")} ${count === 1 ? "row" : "rows"}`

/** How many rows there are, whether the limit cut them, and how many of them the search shows. */
const summary = ({ has_more, limit, rows }: QueryLink, shown: number): string => {
  const found =
    shown === rows.length ? counted(rows.length) : `${shown.toLocaleString("en")} of ${counted(rows.length)}`
  return has_more ? `${found}. The limit of ${limit} cut the result: there are more.` : found
}

const jsonView = (rows: QueryLink["rows"]): HTMLElement =>
  element(
    "div",
    { class: "json-rows", tabindex: "0", role: "region", "aria-label": "Rows as JSON" },
    ...rows.map((row) => element("pre", {}, indented(row.text)))
  )

/** The page of a query's result, to be read only. */
export const openQuery = (root: HTMLElement, data: QueryLink): void => {
  const notice = new Notice()
  const rowsText = () => `{"rows":[${data.rows.map(({ text }) => text).join(",")}],"has_more":${data.has_more}}`
  const save = () => saveFile(`${data.table.replace(/[^\w.-]+/g, "_")}.json`, rowsText(), "application/json")
  const head = header(data, new ServerClock(data.server_time), [], () => {
    const text = "This link is over. What is loaded stays here until you close the page."
    notice.say("warning", text, button("Download what is loaded", save))
  })
  head.start()
  if (data.rows.length === 0) {
    const empty = element(
      "p",
      { class: "empty" },
      "No row matches this query. The table may be empty, or hold other rows."
    )
    return root.replaceChildren(head.root, notice.root, empty)
  }
  const count = element("p", { class: "count", role: "status" })
  const table = queryTable(data.rows, (shown) => (count.textContent = summary(data, shown)))
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
  const bar = element("div", { class: "query-bar" }, tabs, search, count)
  show(true)
  root.replaceChildren(head.root, notice.root, bar, body)
}
