import { remaining, timeOfDay, type ServerClock } from "./Clock.ts"
import { downloadAddress } from "./Client.ts"
import { element } from "./Dom.ts"
import type { LinkData } from "./LinkData.ts"

const WARN_BEFORE = 5 * 60_000

const fact = (name: string, value: string, full?: string): HTMLElement =>
  element("span", { class: "fact", title: full }, element("span", { class: "muted" }, name + " "), value)

const title = (data: LinkData): string => (data.kind === "text" ? data.field : data.table)

const facts = (data: LinkData): ReadonlyArray<HTMLElement> => {
  if (data.kind === "query") return [element("span", { class: "fact muted" }, "Query result")]
  const row = fact("Row", data.id.slice(0, 8), data.id)
  return data.kind === "text" ? [fact("Text field in", data.table), row] : [row]
}

export interface Header {
  readonly root: HTMLElement
  readonly start: () => void
  readonly end: () => void
}

const END = { row: "Editable", text: "Editable", query: "Open" } as const

/**
 * What is shown, how long the link lives, and the way to the file, with `actions` beside it. From `start` on the time
 * counts down, and `onEnd` runs when it is over; `end` is for links that are over before.
 */
export const header = (
  data: LinkData,
  clock: ServerClock,
  actions: ReadonlyArray<HTMLElement>,
  onEnd: () => void
): Header => {
  const time = element("span", { class: "ends" })
  const download = element("a", { class: "button", href: downloadAddress, download: true }, "Download")
  const root = element(
    "header",
    { class: "viewer-header" },
    element("div", {}, element("h1", {}, title(data)), element("p", { class: "link-facts" }, ...facts(data), time)),
    element("div", { class: "viewer-actions" }, download, ...actions)
  )
  const ends = Date.parse(data.expires_at)
  let timer = 0
  const end = () => {
    clearTimeout(timer)
    time.textContent = `Link ended at ${timeOfDay(data.expires_at)}`
    time.classList.add("warning")
    // A link that is over downloads nothing.
    download.remove()
  }
  const tick = () => {
    const left = ends - clock.now()
    if (left <= 0) {
      end()
      return onEnd()
    }
    time.textContent = `${END[data.kind]} until ${timeOfDay(data.expires_at)} (${remaining(left)})`
    time.classList.toggle("warning", left < WARN_BEFORE)
    timer = setTimeout(tick, Math.min(left, left > 61_000 ? 5000 : 250))
  }
  return { root, start: tick, end }
}
