import { element } from "./Dom.ts"

export type Tone = "good" | "note" | "warning" | "danger"

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
    const line = element("div", { class: `notice ${tone}` }, element("p", {}, text))
    if (actions.length > 0) line.append(element("div", { class: "notice-actions" }, ...actions))
    place.append(line)
  }

  /** Takes back good news that something newer has overtaken. */
  clearGood(): void {
    this.#polite.querySelector(".notice.good")?.remove()
  }

  clear(): void {
    this.#polite.replaceChildren()
    this.#urgent.replaceChildren()
  }
}
