import { systemFields } from "../../domain/Row.ts"
import { element } from "./Dom.ts"
import { memberTexts } from "../../domain/RowMerge.ts"
import { stringOf } from "../../domain/TypedRow.ts"
import { downloadAddress, type EditableLink } from "./LinkClient.ts"

/** The time of the service, by a clock that doesn't jump when the device's clock is set. */
export class ServerClock {
  readonly #offset: number

  constructor(serverTime: string) {
    this.#offset = Date.parse(serverTime) - performance.now()
  }

  now(): number {
    return this.#offset + performance.now()
  }
}

const hourAndMinute = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" })
const dayAndTime = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit"
})

/** `14:32`, in the reader's time zone. */
const timeOfDay = (instant: string): string => hourAndMinute.format(new Date(instant))

/** `28 Nov, 14:32`, in the reader's time zone. */
export const dateAndTime = (instant: string): string => dayAndTime.format(new Date(instant))

/** `23 min`, or `40 s` in the last minute. */
const remaining = (milliseconds: number): string => {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000))
  return seconds > 60 ? `${Math.ceil(seconds / 60)} min` : `${seconds} s`
}

const WARN_BEFORE = 5 * 60_000

const fact = (name: string, value: string, full?: string): HTMLElement =>
  element("span", { class: "fact", title: full }, element("span", { class: "muted" }, name + " "), value)

const title = (data: EditableLink): string => (data.kind === "text" ? data.field : data.table)

const facts = (data: EditableLink): ReadonlyArray<HTMLElement> => {
  const row = fact("Row", data.id.slice(0, 8), data.id)
  return data.kind === "text" ? [fact("Text field in", data.table), row] : [row]
}

export interface Header {
  readonly root: HTMLElement
  readonly start: () => void
  readonly end: () => void
}

/**
 * What the link shows, how long it is valid, and its download, with `actions` beside it. `start` begins the countdown, and
 * `onEnd` runs when it ends; `end` is for links that were revoked before.
 */
export const header = (
  data: EditableLink,
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
    time.textContent = `Link expired at ${timeOfDay(data.expires_at)}`
    time.classList.add("warning")
    // An expired link downloads nothing.
    download.remove()
  }
  const tick = () => {
    const left = ends - clock.now()
    if (left <= 0) {
      end()
      return onEnd()
    }
    time.textContent = `Editable until ${timeOfDay(data.expires_at)} (${remaining(left)})`
    time.classList.toggle("warning", left < WARN_BEFORE)
    timer = setTimeout(tick, Math.min(left, left > 61_000 ? 5000 : 250))
  }
  return { root, start: tick, end }
}

const fullTime = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" })

/** A time of the service in the reader's time zone; the exact one shows when it is pointed at. */
const localTime = (timestamp: string): HTMLElement =>
  element("time", { datetime: timestamp, title: timestamp }, fullTime.format(new Date(timestamp)))

/** The fields that the service sets, read-only; a text field's page shows only when it was changed. */
export const systemFieldList = (data: EditableLink): HTMLElement => {
  const values = data.kind === "row" ? memberTexts(data.row.text) : new Map([["updated_at", `"${data.updated_at}"`]])
  const shown = [...systemFields].flatMap((name) => {
    const value = stringOf(values.get(name))
    if (value === undefined) return []
    return [element("div", {}, element("dt", {}, name), element("dd", {}, name === "id" ? value : localTime(value)))]
  })
  return element("dl", { class: "system-fields", "aria-label": "Set by the service" }, ...shown)
}
