import { indented } from "../../../../domain/json/Indent.ts"
import { readItems } from "../../../../domain/json/Items.ts"
import type { Cell } from "./Cells.ts"
import { element } from "./Dom.ts"
import { memberTexts, stringOf } from "./JsonParts.ts"

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
export const cellView = ({ kind, text }: Cell): HTMLTableCellElement => {
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
