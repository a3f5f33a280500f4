import { element } from "./Dom.ts"
import { memberTexts, stringOf } from "./JsonParts.ts"
import type { EditableLink } from "./LinkData.ts"
import { systemFields } from "../../../../domain/Row.ts"

/** The fields that the service sets, to be read; a text field's page shows only when it was changed. */
export const systemFieldList = (data: EditableLink): HTMLElement => {
  const values = data.kind === "row" ? memberTexts(data.row.text) : new Map([["updated_at", `"${data.updated_at}"`]])
  const shown = [...systemFields].flatMap((name) => {
    const value = stringOf(values.get(name))
    return value === undefined ? [] : [element("div", {}, element("dt", {}, name), element("dd", {}, value))]
  })
  return element("dl", { class: "system-fields", "aria-label": "Set by the service" }, ...shown)
}
