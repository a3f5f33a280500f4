import { indented } from "../../../../domain/json/Indent.ts"
import { element } from "./Dom.ts"
import { stringOf } from "./JsonParts.ts"

/** A JSON text for reading: strings without quotes and escapes, everything else indented; a gap where there is none. */
export const valueView = (text: string | undefined, none: string): HTMLElement => {
  if (text === undefined) return element("em", { class: "muted" }, none)
  if (text === '""') return element("em", { class: "muted" }, "empty text")
  return element("pre", { class: "value" }, stringOf(text) ?? indented(text))
}
