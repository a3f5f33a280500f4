import { button, element } from "../Dom.ts"

const textOf = (value: string): string => (value.startsWith('"') ? (JSON.parse(value) as string) : value)

/** What a refusal says: the script's own come as JSON, others are pages. */
const problemOf = async (response: Response): Promise<string> => {
  const text = await response.text()
  if (response.headers.get("content-type")?.startsWith("application/json") === true) {
    return (JSON.parse(text) as { problem: string }).problem
  }
  const page = new DOMParser().parseFromString(text, "text/html")
  return page.querySelector(".lead")?.textContent?.trim() ?? "The cell was not saved."
}

/**
 * Edits cells in place, and filters by their values. Cells are walked through with the arrow keys; Enter edits, Enter saves
 * and Escape leaves things as they were. What was typed stays until it is saved or dropped by its person.
 */
export const editingCells = (form: HTMLFormElement): void => {
  const path = form.dataset["path"]!
  const cells = [...form.querySelectorAll<HTMLElement>("td[data-value]")]
  const bar = element("p", { class: "cell-bar", role: "status" })
  form.querySelector(".grid-frame")?.before(bar)

  const fieldOf = (cell: HTMLElement): string => {
    const at = (cell as HTMLTableCellElement).cellIndex
    return form.querySelectorAll<HTMLElement>("thead th")[at]?.dataset["field"] ?? ""
  }

  /** Shows only the rows that have the cell's value, within what is shown now. */
  const filterBy = (cell: HTMLElement) => {
    const query = new URLSearchParams(location.search)
    query.delete("cursor")
    query.set("field", fieldOf(cell))
    query.set("operator", "eq")
    query.set("value", cell.dataset["value"]!)
    location.assign(`${path}?${query}`)
  }

  const isEditing = (cell: HTMLElement) => cell.querySelector("form, input, select") !== null

  const tell = (cell: HTMLElement) => {
    if (isEditing(cell)) return
    bar.replaceChildren(
      element("strong", {}, fieldOf(cell)),
      button("Edit", () => edit(cell)),
      button("Show only rows with this value", () => filterBy(cell))
    )
  }

  const undo = (change: number) =>
    element(
      "form",
      { class: "inline", method: "post", action: "/activity/_undo" },
      element("input", { type: "hidden", name: "proof", value: form.dataset["proof"] }),
      element("input", { type: "hidden", name: "change", value: String(change) }),
      element("button", { type: "submit" }, "Undo")
    )

  const edit = (cell: HTMLElement) => {
    if (isEditing(cell)) return
    const [kind, before] = [cell.dataset["kind"] ?? "text", textOf(cell.dataset["value"]!)]
    const id = cell.closest("tr")!.dataset["id"]!
    const time = cell.closest("tr")!.querySelector<HTMLTimeElement>("td:last-child time")!
    // A line end would be lost in a field of one line, and a null has nothing to be typed over.
    if (/[\r\n]/.test(before) || kind === "null") return location.assign(`${path}/${id}`)
    const shown = [...cell.childNodes]
    const control: HTMLInputElement | HTMLSelectElement =
      kind === "boolean"
        ? element("select", {}, element("option", {}, "true"), element("option", {}, "false"))
        : element("input", { inputmode: kind === "number" ? "decimal" : "text", autocomplete: "off" })
    control.value = before
    control.setAttribute("aria-label", fieldOf(cell))
    const leave = () => {
      cell.replaceChildren(...shown)
      cell.focus()
    }
    const save = async () => {
      if (control.value === before) return leave()
      control.disabled = true
      const fields = new URLSearchParams({
        proof: form.dataset["proof"]!,
        field: fieldOf(cell),
        type: kind,
        value: control.value,
        updated_at: time.dateTime
      })
      try {
        const response = await fetch(`${path}/${id}/_cell`, { method: "POST", body: fields })
        if (!response.ok) throw new Error(await problemOf(response))
        const saved = (await response.json()) as { value: string; updated_at: string; change: number | null }
        cell.dataset["value"] = saved.value
        time.dateTime = saved.updated_at
        cell.replaceChildren(textOf(saved.value))
        cell.focus()
        bar.replaceChildren("Saved. ", ...(saved.change === null ? [] : [undo(saved.change)]))
      } catch (error) {
        control.disabled = false
        const words = error instanceof TypeError ? "The service can't be reached." : (error as Error).message
        bar.replaceChildren(
          element("span", { role: "alert" }, `${words} What you typed stays in the cell. `),
          button("Try again", () => void save()),
          button("Drop it", leave)
        )
        control.focus()
      }
    }
    const decide = (event: KeyboardEvent) => {
      event.stopPropagation()
      if (event.key === "Escape") leave()
      if (event.key !== "Enter") return
      // Enter would send the form around the grid.
      event.preventDefault()
      void save()
    }
    ;(control as HTMLElement).addEventListener("keydown", decide)
    cell.replaceChildren(control)
    bar.replaceChildren(
      button("Save", () => void save()),
      button("Cancel", leave)
    )
    control.focus()
    addEventListener("beforeunload", (event) => {
      if (control.isConnected && control.value !== before) event.preventDefault()
    })
  }

  const isCell = (one: Element | undefined): one is HTMLElement =>
    one instanceof HTMLElement && one.dataset["value"] !== undefined && !one.hidden

  const neighbour = (cell: HTMLElement, key: string): HTMLElement | undefined => {
    const at = (cell as HTMLTableCellElement).cellIndex
    const row = cell.closest("tr")!
    const inColumn = (other: Element | null) => [other?.children[at]].find(isCell)
    switch (key) {
      case "ArrowLeft":
        return [...row.children].slice(0, at).findLast(isCell)
      case "ArrowRight":
        return [...row.children].slice(at + 1).find(isCell)
      case "ArrowUp":
        return inColumn(row.previousElementSibling)
      case "ArrowDown":
        return inColumn(row.nextElementSibling)
      default:
        return undefined
    }
  }

  for (const [index, cell] of cells.entries()) {
    cell.tabIndex = index === 0 ? 0 : -1
    cell.addEventListener("focus", () => {
      for (const other of cells) other.tabIndex = other === cell ? 0 : -1
      tell(cell)
    })
    cell.addEventListener("dblclick", () => edit(cell))
    cell.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === "F2") {
        event.preventDefault()
        edit(cell)
        return
      }
      const next = neighbour(cell, event.key)
      if (next === undefined) return
      event.preventDefault()
      next.focus()
    })
  }
}
