import { button, element } from "./Dom.ts"

export interface SaveBarState {
  /** The size of the row in bytes, if what was typed has one. */
  readonly bytes: number | undefined
  readonly limit: number
  /** Why the text cannot be saved. */
  readonly fault: string | undefined
  /** Whether Save is off for another reason: it is under way, has to wait, or the link is over. */
  readonly blocked: boolean
  readonly busy: boolean
}

const kilobytes = (bytes: number): string => {
  const size = Math.max(0.1, bytes / 1024)
  return size < 10 ? size.toFixed(1) : String(Math.ceil(size))
}

/** The bar at the bottom that is there while there are changes. */
export class SaveBar {
  readonly root: HTMLElement
  readonly #size = element("span", { class: "size" })
  readonly #fault = element("p", { class: "fault", id: "save-fault" })
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

  show({ blocked, busy, bytes, fault, limit }: SaveBarState): void {
    this.root.hidden = false
    const over = bytes !== undefined && bytes > limit
    this.#size.textContent =
      bytes === undefined ? "" : `${kilobytes(bytes)} of ${kilobytes(limit).replace(".0", "")} KB`
    this.#size.classList.toggle("danger", over)
    if (this.#fault.textContent !== (fault ?? "")) this.#fault.textContent = fault ?? ""
    this.#save.disabled = blocked || busy || fault !== undefined
    this.#save.textContent = busy ? "Saving…" : "Save"
    this.#discard.disabled = busy
  }
}
