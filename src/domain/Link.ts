import { Schema } from "effect"
import { Timestamp } from "./Account.ts"
import type { JsonText } from "./json/JsonText.ts"
import { parseEnvelope } from "./json/ParseEnvelope.ts"
import { print } from "./json/Print.ts"

/** What a link leads to: one row, one string field of a row, or the rows of a query, which runs when it is opened. */
export type LinkTarget =
  | { readonly kind: "row"; readonly table: string; readonly id: string }
  | { readonly kind: "text"; readonly table: string; readonly id: string; readonly field: string }
  | {
      readonly kind: "query"
      readonly table: string
      readonly filter: JsonText | undefined
      readonly sort: string | undefined
      readonly limit: number
    }

/** The two addresses of a link, shown in this answer only (specification section 4.5). */
export const CreatedLink = Schema.Struct({
  viewer_url: Schema.String,
  download_url: Schema.String,
  editable: Schema.Boolean,
  expires_at: Timestamp
}).annotate({
  identifier: "CreatedLink",
  description:
    "Whoever has `viewer_url` may see what the link leads to, and edit it if it is `editable`; whoever has " +
    "`download_url` may download it. Both end at `expires_at`, or when the key that made them is revoked."
})
export type CreatedLink = typeof CreatedLink.Type

/** A target as it is kept. */
export const targetText = (target: LinkTarget): string => print(target)

/** Reads {@link targetText}. */
export const targetOf = (text: string): LinkTarget => {
  const members = new Map([["filter", { kind: "text" } as const]])
  return parseEnvelope(text, { kind: "object", members }).value as LinkTarget
}
