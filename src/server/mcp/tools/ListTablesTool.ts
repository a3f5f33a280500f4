import { Effect, Schema } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import { parseSort } from "../../../domain/Query.ts"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { Rows } from "../../tables/Rows.ts"
import { type DescribedTable, type TableEntry, Tables } from "../../tables/Tables.ts"
import { withinBudget } from "../Results.ts"
import { reads, tool } from "../Tool.ts"
import * as F from "../ToolFields.ts"
import { defaultTable } from "./RememberTools.ts"

/** How many fields of each table are told. */
const mostFields = 12

/** How many titles of memories are told, and how much of each, in characters. */
const mostTitles = 5
const titleLength = 80

type Field = DescribedTable["fields"][number]

/** `"amount":"number, string"`: a field with its types, the most frequent first. */
const fieldText = ({ name, types }: Field): string => {
  const names = Object.entries(types).toSorted(([, one], [, other]) => other - one)
  return `${print(name)}:"${names.map(([type]) => type).join(", ")}"`
}

/** The titles of the memories that were saved last, the last first. */
const lastTitles = Effect.fnUntraced(function* (actor: Actor) {
  const rows = yield* Rows
  const sort = parseSort("-updated_at")
  const found = yield* rows.select(actor, defaultTable, {
    filter: undefined,
    sort,
    limit: mostTitles,
    after: undefined
  })
  const titles = found.rows.flatMap(({ data }) => {
    const value = members(data).find(({ name }) => name === "title")?.value
    return value?.[0] === '"' ? [decodeString(value)] : []
  })
  return titles.map((title) => (title.length > titleLength ? `${title.slice(0, titleLength).toWellFormed()}…` : title))
}, Effect.scoped)

const describedText = (table: TableEntry | DescribedTable, fields: ReadonlyArray<string>, titles: string): string => {
  const start = `{"name":"${table.name}","rows":${table.rows}`
  if (!("fields" in table) || table.updated_at === null) return `${start}}`
  const others = table.more_fields + table.fields.length - fields.length
  const more = others === 0 ? "" : `,"more_fields":${others}`
  return `${start},"updated_at":"${table.updated_at}","fields":{${fields.join()}}${more}${titles}}`
}

export const listTables = tool({
  name: "list_tables",
  title: "List tables",
  description:
    "Lists the tables with their fields, row counts and last change, and the account's limits. Call it first to see what is remembered.",
  hints: reads,
  input: F.nothing,
  output: Schema.Struct({
    tables: Schema.Array(
      Schema.Struct({
        name: Schema.String.annotate({ description: "The table's name." }),
        rows: F.count("How many rows it has; 0 if only old versions are left."),
        updated_at: Schema.optionalKey(
          Schema.String.annotate({ description: "When a row was last added or changed; without rows it is left out." })
        ),
        fields: Schema.optionalKey(
          F.exactObject(`The types of the fields that most rows have, by their names: at most ${mostFields} fields.`)
        ),
        more_fields: Schema.optionalKey(F.count("How many further fields there are.")),
        titles: Schema.optionalKey(
          Schema.Array(Schema.String).annotate({
            description: `Of ${defaultTable}: the titles that were saved last, at most ${mostTitles}.`
          })
        )
      })
    ).annotate({ description: "The tables, by name." }),
    usage: F.exactObject("tables and storage_bytes that are used"),
    limits: F.exactObject("tables, rows_per_table, storage_bytes, row_bytes")
  }),
  run: Effect.fnUntraced(function* (_args, actor) {
    const service = yield* Tables
    const { limits, tables, usage } = yield* service.overview(actor, mostFields)
    const hasMemories = tables.some(({ name, rows }) => name === defaultTable && rows > 0)
    const titles = hasMemories ? `,"titles":${print(yield* lastTitles(actor))}` : ""
    const fields = tables.map((table) => ("fields" in table ? table.fields.map(fieldText) : []))
    // As many fields as the answer has room for, from the first table on.
    let left = withinBudget(fields.flat()).length
    const texts = tables.map((table, index) => {
      const own = fields[index]!.slice(0, left)
      left -= own.length
      return describedText(table, own, table.name === defaultTable ? titles : "")
    })
    return JsonText.trusted(`{"tables":[${texts.join()}],"usage":${print(usage)},"limits":${print(limits)}}`)
  })
})
