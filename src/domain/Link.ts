import { Schema } from "effect"
import { Timestamp } from "./Account.ts"
import { print, type JsonText } from "./json/JsonText.ts"
import { parseEnvelope } from "./json/ParseEnvelope.ts"

/** What a link leads to: one row, one string field of a row, or the rows of a query, which runs when it is opened. */
export type LinkTarget =
  | { readonly kind: "row"; readonly table: string; readonly id: string }
  | { readonly kind: "text"; readonly table: string; readonly id: string; readonly field: string }
  | {
      readonly kind: "query"
      readonly table: string
      readonly filter: JsonText | undefined
      readonly search?: string | undefined
      readonly sort: string | undefined
      /** The rows of a page. */
      readonly limit: number
      readonly fields?: ReadonlyArray<string> | undefined
    }

/** The two addresses of a link, in this response only. */
export const CreatedLink = Schema.Struct({
  viewer_url: Schema.String,
  download_url: Schema.String,
  editable: Schema.Boolean,
  expires_at: Timestamp
}).annotate({
  identifier: "CreatedLink",
  description:
    "Anyone with `viewer_url` can see what the link leads to, and edit it if it is `editable`; anyone with " +
    "`download_url` can download it. Both expire at `expires_at`, or when the key that made them is revoked."
})
export type CreatedLink = typeof CreatedLink.Type

/** A target as it is kept. */
export const targetText = (target: LinkTarget): string => print(target)

/** What the kept targets of links to a row and to its fields have in common, behind their kind. */
export const linkedPlace = ({ id, table }: { readonly table: string; readonly id: string }): string =>
  `"table":"${table}","id":"${id}"`

/** Reads {@link targetText}. */
export const targetOf = (text: string): LinkTarget => {
  const members = new Map([["filter", { kind: "text" } as const]])
  return parseEnvelope(text, { kind: "object", members }).value as LinkTarget
}
