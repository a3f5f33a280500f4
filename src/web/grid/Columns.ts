import { element } from "../Dom.ts"

interface Chosen {
  hidden: ReadonlyArray<string>
  widths: Readonly<Record<string, number>>
}

const narrowest = 60
const step = 20

/**
 * Lets columns be hidden and made narrower or wider, and remembers that in this browser for a grid that says which table's it
 * is, with `data-path`.
 */
export const choosingColumns = (grid: HTMLElement): void => {
  const { path } = grid.dataset
  const key = path === undefined ? undefined : `columns ${path}`
  const heads = [...grid.querySelectorAll<HTMLElement>("thead th[data-field]")]
  const stored = (): Chosen => {
    try {
      return { hidden: [], widths: {}, ...(JSON.parse((key && localStorage.getItem(key)) ?? "{}") as Partial<Chosen>) }
    } catch {
      return { hidden: [], widths: {} }
    }
  }
  let chosen = stored()
  const choose = (changed: Partial<Chosen>) => {
    chosen = { ...chosen, ...changed }
    // Without storage, as in private windows, it holds for this page.
    try {
      if (key !== undefined) localStorage.setItem(key, JSON.stringify(chosen))
    } catch {}
    show()
  }
  const nameOf = (head: HTMLElement) => head.dataset["field"] ?? ""
  const cellsOf = (head: HTMLElement) => {
    const at = [...head.parentElement!.children].indexOf(head)
    return [...grid.querySelectorAll<HTMLTableRowElement>("tr")].map((row) => row.cells[at]!)
  }
  const show = () => {
    for (const head of heads) {
      const width = chosen.widths[nameOf(head)]
      for (const cell of cellsOf(head)) {
        cell.hidden = chosen.hidden.includes(nameOf(head))
        cell.style.minWidth = cell.style.maxWidth = width === undefined ? "" : `${width}px`
      }
    }
  }
  const resize = (head: HTMLElement, width: number) =>
    choose({ widths: { ...chosen.widths, [nameOf(head)]: Math.max(narrowest, Math.round(width)) } })

  for (const head of heads) {
    const handle = element("span", {
      class: "resize",
      role: "slider",
      tabindex: "0",
      "aria-label": `Width of ${nameOf(head)}`,
      "aria-valuenow": String(Math.round(head.offsetWidth))
    })
    const resized = (width: number) => {
      resize(head, width)
      handle.setAttribute("aria-valuenow", String(Math.round(head.offsetWidth)))
    }
    handle.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -step, ArrowRight: step }[event.key]
      if (by === undefined) return
      event.preventDefault()
      resized(head.offsetWidth + by)
    })
    handle.addEventListener("pointerdown", (down) => {
      down.preventDefault()
      handle.setPointerCapture(down.pointerId)
      const from = head.offsetWidth - down.clientX
      const move = ({ clientX }: PointerEvent) => resized(from + clientX)
      handle.addEventListener("pointermove", move)
      handle.addEventListener("lostpointercapture", () => handle.removeEventListener("pointermove", move), {
        once: true
      })
    })
    head.append(handle)
  }

  // The first column leads to the rows, so it stays.
  const boxes = heads.slice(1).map((head) => {
    const name = nameOf(head)
    const box = element("input", { type: "checkbox", checked: !chosen.hidden.includes(name) })
    box.addEventListener("change", () =>
      choose({ hidden: [...chosen.hidden.filter((one) => one !== name), ...(box.checked ? [] : [name])] })
    )
    return element("li", {}, element("label", {}, box, ` ${name}`))
  })
  if (boxes.length > 0) {
    const menu = element(
      "details",
      { class: "menu" },
      element("summary", { class: "button" }, "Columns"),
      element("ul", { class: "card" }, ...boxes)
    )
    document.querySelector(".console-actions")?.append(menu)
  }
  show()
}

/** Selects all rows by one box, and says how many are selected. */
export const selectingRows = (form: HTMLFormElement): void => {
  const boxes = [...form.querySelectorAll<HTMLInputElement>('tbody input[name="id"]')]
  const count = element("span", { class: "muted", role: "status" })
  const all = element("input", { type: "checkbox", "aria-label": "Select all rows of this page" })
  const show = () => {
    const selected = boxes.filter((box) => box.checked).length
    count.textContent = selected === 0 ? "" : `${selected} selected`
    all.checked = selected === boxes.length
    all.indeterminate = selected > 0 && selected < boxes.length
  }
  all.addEventListener("change", () => {
    for (const box of boxes) box.checked = all.checked
    show()
  })
  form.addEventListener("change", show)
  form.querySelector("thead .pick")?.append(element("label", {}, all))
  form.querySelector(".selection")?.append(count)
  show()
}
