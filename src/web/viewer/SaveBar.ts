import { button, element } from "./Dom.ts"

type Tone = "good" | "note" | "warning" | "danger"

/** One line above the editor that says what happened. Screen readers hear it; problems interrupt, news wait. */
export class Notice {
  readonly root = element("div", { class: "notices" })
  readonly #polite = element("div", { role: "status" })
  readonly #urgent = element("div", { role: "alert" })

  constructor() {
    this.root.append(this.#polite, this.#urgent)
  }

  say(tone: Tone, text: string, ...actions: ReadonlyArray<HTMLElement>): void {
    this.clear()
    const place = tone === "danger" ? this.#urgent : this.#polite
    const line = element("div", { class: "notice", "data-tone": tone }, element("p", {}, text))
    if (actions.length > 0) line.append(element("div", { class: "notice-actions" }, ...actions))
    place.append(line)
  }

  /** Takes back good news that something newer has overtaken. */
  clearGood(): void {
    this.#polite.querySelector("[data-tone=good]")?.remove()
  }

  clear(): void {
    this.#polite.replaceChildren()
    this.#urgent.replaceChildren()
  }
}

export interface SaveBarState {
  /** The size of the row in bytes, if what was typed has one. */
  readonly bytes: number | undefined
  readonly limit: number
  /** Why the text can't be saved. */
  readonly fault: string | undefined
  /** Whether Save is off for another reason: it is running, has to wait, or the link has expired. */
  readonly blocked: boolean
  readonly busy: boolean
}

const kilobytes = (bytes: number): string => {
  const size = Math.max(0.1, bytes / 1024)
  return size < 10 ? size.toFixed(1) : String(Math.ceil(size))
}

/** The bar at the bottom, shown while there are changes. */
export class SaveBar {
  readonly root: HTMLElement
  readonly #size = element("span", { class: "save-bar-size" })
  readonly #fault = element("p", { class: "save-bar-fault", id: "save-fault" })
  readonly #save: HTMLButtonElement
  readonly #discard: HTMLButtonElement

  constructor(onSave: () => void, onDiscard: () => void) {
    const apple = navigator.platform.startsWith("Mac") || navigator.platform.startsWith("iP")
    this.#save = button("Save", onSave, {
      class: "primary",
      title: apple ? "Cmd+S" : "Ctrl+S",
      "aria-keyshortcuts": apple ? "Meta+S" : "Control+S",
      "aria-describedby": "save-fault"
    })
    this.#discard = button("Discard", onDiscard)
    const buttons = element("div", { class: "save-buttons" }, this.#discard, this.#save)
    this.root = element("div", { class: "save-bar", role: "region", "aria-label": "Unsaved changes", hidden: true })
    this.root.append(this.#size, this.#fault, buttons)
  }

  hide(): void {
    this.root.hidden = true
  }

  /** Says the fault again to screen readers, for somebody who tries what it keeps from being done. */
  announce(): void {
    const fault = this.#fault.textContent
    this.#fault.setAttribute("role", "alert")
    this.#fault.textContent = ""
    this.#fault.textContent = fault
  }

  show({ blocked, busy, bytes, fault, limit }: SaveBarState): void {
    this.root.hidden = false
    const over = bytes !== undefined && bytes > limit
    this.#size.textContent =
      bytes === undefined ? "" : `${kilobytes(bytes)} of ${kilobytes(limit).replace(".0", "")} KB`
    this.#size.classList.toggle("danger", over)
    if (this.#fault.textContent !== (fault ?? "")) {
      // While it is being typed, a fault that comes and goes would be heard at every key.
      this.#fault.removeAttribute("role")
      this.#fault.textContent = fault ?? ""
    }
    this.#save.disabled = blocked || busy || fault !== undefined
    this.#save.textContent = busy ? "Saving…" : "Save"
    this.#discard.disabled = busy
  }
}
