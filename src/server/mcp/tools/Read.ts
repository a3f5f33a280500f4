import { Effect, Option, Schema } from "effect"
import { parseFilter, type Filter } from "../../../domain/Filter.ts"
import { defaultQueryLimit } from "../../../domain/Limits.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { members } from "../../../domain/json/Members.ts"
import { print } from "../../../domain/json/Print.ts"
import { decodeString } from "../../../domain/json/Strings.ts"
import type { InvalidRequest } from "../../../domain/Problem.ts"
import { parseSort } from "../../../domain/Query.ts"
import { rowText, type Row } from "../../../domain/Row.ts"
import { versionText } from "../../../domain/Version.ts"
import type { ServiceLimits } from "../../Config.ts"
import { numberText, plural } from "../../LimitWords.ts"
import type { Reader } from "../../keys/Admission.ts"
import { Links } from "../../links/Links.ts"
import { Rows } from "../../tables/Rows.ts"
import { Tables } from "../../tables/Tables.ts"
import { Versions } from "../../versions/Versions.ts"
import { tokenBudget, withinBudget } from "../Budget.ts"
import { makerOf, sees } from "../Caller.ts"
import * as F from "../Fields.ts"
import { reads, tool } from "../Tool.ts"

/** More rows than these never fit an answer, however small they are. */
const mostRows = 160

/** From how many characters on a text is better read on a page of its own. */
const longText = 4000

/** An empty filter means every row, as no filter does. */
const readFilter = (filter: JsonText | undefined): Effect.Effect<Filter | undefined, InvalidRequest> => {
  if (filter === undefined) return Effect.undefined
  return Effect.map(Effect.fromResult(parseFilter(filter, "/filter")), (parsed) =>
    parsed.isEmpty ? undefined : parsed
  )
}

// Escapes make a text longer than it is.
const isLong = (string: string): boolean => string.length > longText && decodeString(string).length > longText

const hasLongText = ({ data }: Row): boolean =>
  data.text.length > longText && members(data).some(({ value }) => value[0] === '"' && isLong(value))

// Whoever mistypes a table's name would take it that nothing is remembered.
const noRows = '"note":"No table of this name has rows: list_tables tells which have."'

/** Whether a table has no rows at all, where none match a filter. */
const hasNoRows = Effect.fnUntraced(function* (reader: Reader, table: string, filter: Filter | undefined) {
  if (filter === undefined) return true
  const rows = yield* Rows
  return (yield* rows.count(reader, table, undefined)).text === '{"count":0}'
})

export const query = ({ linkMinutes }: ServiceLimits) =>
  tool({
    name: "query",
    title: "Read rows",
    description: `Reads rows of a table, with an optional equality filter, sort field and limit. An answer holds at most about ${numberText(tokenBudget)} tokens of rows; has_more tells that more match: narrow the filter, or sort the other way to see the last ones. When _service_query_link comes with the answer, give its viewer_url or download_url to the person instead of pasting the whole result. includeLink asks for the link of a small result.`,
    hints: reads,
    input: Schema.Struct({
      table: F.table,
      limit: Schema.optionalKey(F.limit),
      includeLink: Schema.optionalKey(
        Schema.Boolean.annotate({ description: "true adds _service_query_link also to a small result." })
      ),
      sort: Schema.optionalKey(F.sort),
      filter: Schema.optionalKey(F.filter)
    }),
    output: Schema.Struct({
      rows: F.storedRows,
      has_more: Schema.Boolean.annotate({ description: "true: more rows match than are here." }),
      note: Schema.optionalKey(
        Schema.String.annotate({ description: "Where the table has no rows at all: that its name may be another." })
      ),
      _service_query_link: Schema.optionalKey(
        Schema.Struct(F.linkFields).annotate({
          description: `A page and a download of the whole result, for ${plural(linkMinutes, "minute")}.`
        })
      )
    }),
    run: Effect.fnUntraced(function* ({ filter, includeLink, limit = defaultQueryLimit, sort, table }, connection) {
      const parsed = yield* readFilter(filter)
      if (!sees(connection, table)) return JsonText.trusted(`{"rows":[],"has_more":false,${noRows}}`)
      const rows = yield* Rows
      const found = yield* rows.select(connection, table, {
        filter: parsed,
        sort: sort === undefined ? undefined : parseSort(sort),
        limit: Math.min(limit, mostRows)
      })
      const shown = withinBudget(found.rows.map((row) => rowText(row).text))
      const isCut = shown.length < found.rows.length || (found.hasMore && limit > mostRows)
      const isEmpty = found.rows.length === 0 && (yield* hasNoRows(connection, table, parsed))
      const body = `{"rows":[${shown.join()}],"has_more":${isCut || found.hasMore}${isEmpty ? `,${noRows}` : ""}`
      if (includeLink !== true && !isCut && !found.rows.some(hasLongText)) return JsonText.trusted(`${body}}`)
      const links = yield* Links
      const made = links.toQuery(makerOf(connection), { table, filter, sort, limit })
      // Nobody asked for this link: that none can be made is no reason to withhold the rows.
      const link = includeLink === true ? Option.some(yield* made) : yield* Effect.option(made)
      if (Option.isNone(link)) return JsonText.trusted(`${body}}`)
      return JsonText.trusted(`${body},"_service_query_link":${print(link.value)}}`)
    })
  })

export const count = tool({
  name: "count",
  title: "Count rows",
  description: "Counts the rows of a table, all of them or those that match an equality filter.",
  hints: reads,
  input: Schema.Struct({ table: F.table, filter: Schema.optionalKey(F.filter) }),
  output: Schema.Struct({ count: F.count("How many rows match.") }),
  run: Effect.fnUntraced(function* ({ filter, table }, connection) {
    const parsed = yield* readFilter(filter)
    if (!sees(connection, table)) return JsonText.trusted('{"count":0}')
    const rows = yield* Rows
    return yield* rows.count(connection, table, parsed)
  })
})

export const listTables = tool({
  name: "list_tables",
  title: "List tables",
  description:
    "Lists the tables with their row counts, and what is used of the account's limits. Call it first to learn what is remembered.",
  hints: reads,
  input: F.nothing,
  output: Schema.Struct({
    tables: Schema.Array(
      Schema.Struct({
        name: Schema.String.annotate({ description: "The table's name." }),
        rows: F.count("How many rows it has; 0 where only old versions are left.")
      })
    ).annotate({ description: "The tables, by name." }),
    usage: Schema.Struct({
      tables: F.count("Tables with rows."),
      storage_bytes: F.count("Bytes that the rows of the listed tables hold.")
    }).annotate({ description: "What is used." }),
    limits: Schema.Struct({
      tables: F.count("Tables at most."),
      rows_per_table: F.count("Rows a table at most."),
      storage_bytes: F.count("Bytes at most."),
      row_bytes: F.count("Bytes a row at most.")
    }).annotate({ description: "What is allowed." })
  }),
  run: Effect.fnUntraced(function* (_args, connection) {
    const tables = yield* Tables
    return JsonText.trusted(print(yield* tables.overview(connection.accountId, connection.tables)))
  })
})

export const versions = ({ versionDays, versionsPerRow }: ServiceLimits) =>
  tool({
    name: "versions",
    title: "List a row's old versions",
    description: `Lists the archived versions of a live or deleted row, newest first: the last ${numberText(versionsPerRow)}, for ${plural(versionDays, "day")}, each with what replaced it, when and by whom.`,
    hints: reads,
    input: Schema.Struct({ table: F.table, id: F.id }),
    output: Schema.Struct({
      versions: Schema.Array(
        F.exactObject(
          "version, id, table, operation (update, delete or restore), changed_by, archived_at, expires_at, and row as it was."
        )
      ).annotate({ description: "The versions, newest first." }),
      has_more: Schema.Boolean.annotate({ description: "true: older versions did not fit here." }),
      note: Schema.optionalKey(
        Schema.String.annotate({
          description: "Why there are none."
        })
      )
    }),
    run: Effect.fnUntraced(function* ({ id, table }, connection) {
      const isSeen = sees(connection, table)
      const versions = yield* Versions
      const found = isSeen ? yield* versions.read(connection.accountId, table, id) : []
      if (found.length > 0) {
        const shown = withinBudget(found.map(versionText))
        return JsonText.trusted(`{"versions":[${shown.join()}],"has_more":${shown.length < found.length}}`)
      }
      const rows = yield* Rows
      const row = isSeen ? yield* rows.find(connection, table, id) : Option.none()
      const note = Option.isSome(row)
        ? "The row was not changed, or what it was is no longer kept."
        : "No row and no version of this table has this id."
      return JsonText.trusted(`{"versions":[],"has_more":false,"note":"${note}"}`)
    })
  })
