import { Effect, Schema } from "effect"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { print } from "../../../domain/json/Print.ts"
import type { ServiceLimits } from "../../Config.ts"
import { plural } from "../../LimitWords.ts"
import { Links } from "../../links/Links.ts"
import type { AdmittedConnection } from "../../oauth/Connections.ts"
import { makerOf, sees } from "../Caller.ts"
import * as F from "../Fields.ts"
import { reads, tool } from "../Tool.ts"

const printed = Effect.map((link: object) => JsonText.trusted(print(link)))

/** A row that a connection may know of; of any other, an id that no row has. */
const known = (connection: AdmittedConnection, table: string, id: string) => ({
  table,
  id: sees(connection, table) ? id : ""
})

// The links let whoever has them edit, so that they are no reading of a connection that may only read.
const opens = { hints: { ...reads, readOnlyHint: false, idempotentHint: false }, isRead: () => true } as const

export const openRow = ({ linkMinutes }: ServiceLimits) =>
  tool({
    name: "open_row",
    title: "Open a row for a person",
    description: `Makes a page where a person can see and edit one stored row, and a download of its JSON, both for ${plural(linkMinutes, "minute")}. Give the viewer_url to the person as it is; whoever has it can edit the row.`,
    ...opens,
    input: Schema.Struct({ table: F.table, id: F.id }),
    output: Schema.Struct(F.linkFields),
    run: Effect.fnUntraced(function* ({ id, table }, connection) {
      const links = yield* Links
      return yield* printed(links.toRow(makerOf(connection), known(connection, table, id)))
    })
  })

export const openTextField = ({ linkMinutes }: ServiceLimits) =>
  tool({
    name: "open_text_field",
    title: "Open a text for a person",
    description: `Makes a page where a person can read and edit one text field of a row, with a preview of Markdown, and a download of the text, both for ${plural(linkMinutes, "minute")}. Give the viewer_url to the person as it is; whoever has it can edit the text.`,
    ...opens,
    input: Schema.Struct({
      table: F.table,
      id: F.id,
      field: Schema.String.annotate({ description: "The name of the field, which must hold a string." })
    }),
    output: Schema.Struct(F.linkFields),
    run: Effect.fnUntraced(function* ({ field, id, table }, connection) {
      const links = yield* Links
      return yield* printed(links.toTextField(makerOf(connection), { ...known(connection, table, id), field }))
    })
  })
