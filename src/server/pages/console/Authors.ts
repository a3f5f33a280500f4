import { readTree, type JsonText } from "../../../domain/json/JsonText.ts"
import { html, type Html } from "../../doors/Html.ts"
import { clientName } from "../ConsentPage.ts"
import type { ChangedBy } from "../../../domain/Version.ts"

/**
 * Who made a change, as its person reads it, or somebody to whom its person is `owner`. Names are what apps and programs call
 * themselves.
 */
export const authorHtml = ({ kind, name }: Pick<ChangedBy, "kind" | "name">, owner = "you"): Html => {
  switch (kind) {
    case "person":
      return html`${owner}`
    case "key":
      return html`the API key ${clientName(name)}`
    case "mcp":
      return html`the app ${clientName(name)}`
    case "link":
      return html`a link of ${clientName(name)}`
  }
}

/** {@link authorHtml} of a stored author. */
export const authorOf = (changedBy: JsonText, owner?: string): Html =>
  authorHtml(readTree(changedBy.text, Number) as ChangedBy, owner)
