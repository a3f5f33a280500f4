import { Effect, Schema, Option } from "effect"
import { type Actor, sees } from "../../../domain/Actor.ts"
import { parseSort, parseMatching } from "../../../domain/Query.ts"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { Rows } from "../../tables/Rows.ts"
import { type DescribedTable, type TableEntry, Tables } from "../../tables/Tables.ts"
import { withinBudget, cutRow, rowBytes, tokenBudget } from "../Results.ts"
import { reads, tool } from "../Tool.ts"
import * as F from "../ToolFields.ts"
import { defaultTable } from "./RememberTools.ts"
import { numberText } from "../../../domain/Amounts.ts"
import { defaultQueryLimit, maxQueryLimit } from "../../../domain/Limits.ts"
import { cursorAfter, noCursor, parseCursor } from "../../../domain/query/Cursor.ts"
import { selectionOf, shownTexts } from "../../../domain/query/Fields.ts"
import type { Row } from "../../../domain/Row.ts"
import { summingOf } from "../../../domain/query/Summary.ts"
import { inTurns } from "../../../domain/Turns.ts"
import { Links } from "../../links/Links.ts"
import { noteMember } from "../../tables/operations/OperationKind.ts"

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
        name: F.text("The table's name."),
        rows: F.count("How many rows it has; 0 if only old versions are left."),
        updated_at: F.anyText("When a row was last added or changed; without rows it is left out."),
        fields: Schema.optionalKey(
          F.exactObject(`The types of the fields that most rows have, by their names: at most ${mostFields} fields.`)
        ),
        more_fields: F.anyCount("How many further fields there are."),
        titles: F.anyTexts(`Of ${defaultTable}: the titles that were saved last, at most ${mostTitles}.`)
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

/** More rows than these never fit an answer, however small they are: whole ones, and chosen fields of them. */
const mostRows = 160
const mostChosen = 450

/** In bytes: of a row, the fields that a call names may have more than a whole row. */
const chosenBytes = 60_000

/** From how many characters on a text is better read on a page of its own. */
const longText = 4000

// Escapes make a text longer than it is.
const isLong = (string: string): boolean => string.length > longText && decodeString(string).length > longText

const hasLongText = ({ data }: Row): boolean =>
  data.text.length > longText && members(data).some(({ value }) => value[0] === '"' && isLong(value))

const readCut =
  "Name a field in fields to read more of it, or give the person the link; to change a long text, send edits."
const readOn = "for more, call query again with cursor set to next_cursor"

export const query = tool({
  name: "query",
  title: "Read rows",
  description: `Reads rows of a table. A result has at most about ${numberText(tokenBudget)} tokens of rows; with fields, more rows fit. If has_more, call it again with cursor. Give a person the viewer_url or download_url of _service_query_link instead of pasting many rows.`,
  hints: reads,
  input: Schema.Struct({
    table: F.table,
    limit: F.limit,
    includeLink: F.anyFlag("true adds the link to a small result too."),
    sort: F.sort,
    search: F.anySearch,
    fields: F.fields,
    cursor: F.cursor,
    filter: F.filter
  }),
  output: Schema.Struct({
    rows: F.foundRows,
    has_more: F.flag("More rows match."),
    matched: F.count("How many rows match in all."),
    next_cursor: F.nextCursor,
    note: F.note,
    _service_query_link: Schema.optionalKey(
      Schema.Struct({ rows: F.count("How many rows it shows."), ...F.linkFields }).annotate({
        description: "Of the whole result, for {limits.linkMinutes}."
      })
    )
  }),
  run: Effect.fnUntraced(function* (args, actor) {
    const { cursor, fields, filter, includeLink, limit = defaultQueryLimit, search, sort, table } = args
    const parsed = yield* Effect.fromResult(parseMatching({ filter, search }, "/"))
    const bound = { table, filter: filter?.text, search, sort }
    const after = cursor === undefined ? undefined : yield* Effect.fromResult(parseCursor(cursor, bound))
    const selection = fields === undefined ? undefined : yield* Effect.fromResult(selectionOf(fields, "/fields"))
    const most = selection === undefined ? mostRows : mostChosen
    const rows = yield* Rows
    const found = yield* rows.select(actor, table, {
      filter: parsed,
      sort: sort === undefined ? undefined : parseSort(sort),
      limit: Math.min(limit, most),
      after
    })
    const texts = (yield* inTurns(shownTexts(found.rows, selection))).map(({ text }) => text)
    const cut =
      texts[0] === undefined ? undefined : cutRow(texts[0], selection?.kind === "named" ? chosenBytes : rowBytes)
    const shown = withinBudget(cut === undefined ? texts : [cut.text, ...texts.slice(1)])
    const isCut = shown.length < found.rows.length || (found.hasMore && limit > most)
    const hasMore = isCut || found.hasMore
    const matched = hasMore || after !== undefined ? yield* rows.matched(actor, table, parsed) : shown.length
    const next = hasMore ? cursorAfter(bound, found.rows.slice(0, shown.length), after) : undefined
    const place = `${shown.length} ${after === undefined ? "" : "more "}of ${matched} rows`
    const readLess = isCut && selection === undefined ? "; with fields, more rows fit" : ""
    const way = next === undefined ? noCursor : `${readOn}${readLess}.`
    const reading = hasMore ? `${place}; ${way}` : undefined
    const finding =
      after === undefined ? yield* rows.notes.ofPage({ table, filter, sort, selection }, actor, found.rows) : undefined
    const said = [reading, cut && `${cut.said} ${readCut}`, finding].filter((one) => one !== undefined)
    const note = noteMember(said.join(" ") || undefined)
    const cursors = next === undefined ? "" : `,"next_cursor":"${next}"`
    const body = `{"rows":[${shown.join()}],"has_more":${hasMore},"matched":${matched}${cursors}${note}`
    // No link leads to a table out of reach.
    const isLinkAsked = includeLink === true && sees(actor, table)
    const hasLong = cut !== undefined || found.rows.some(hasLongText)
    // The link of the first page shows all, and an account has only so many links at a time.
    const isLinkDue = isLinkAsked || (after === undefined && (isCut || hasLong))
    if (!isLinkDue) return JsonText.trusted(`${body}}`)
    const links = yield* Links
    // Without a limit of the caller's own, the whole result is the person's to see.
    const linkLimit = args.limit ?? maxQueryLimit
    const made = links.toQuery(actor, { table, filter, search, sort, limit: linkLimit, fields })
    // Nobody asked for this link: that none can be made is no reason to withhold the rows.
    const link = isLinkAsked ? Option.some(yield* made) : yield* Effect.option(made)
    if (Option.isNone(link)) return JsonText.trusted(`${body}}`)
    const told = { rows: Math.min(matched, linkLimit), ...link.value }
    return JsonText.trusted(`${body},"_service_query_link":${print(told)}}`)
  })
})

export const count = tool({
  name: "count",
  title: "Count rows and add them up",
  description:
    "Counts rows. sum, min, max and avg add up a field's numbers exactly; by does so for each value of a field. Use it for totals instead of reading rows.",
  hints: reads,
  input: Schema.Struct({
    table: F.table,
    by: F.summed("group by"),
    sum: F.summed("add up"),
    min: F.summed("find the least of"),
    max: F.summed("find the greatest of"),
    avg: F.summed("average"),
    search: F.anySearch,
    filter: F.filter
  }),
  output: Schema.Struct({
    count: F.count("How many rows match."),
    ...F.measures,
    groups: F.anyObjects("value, count, measures", "With by: most rows first."),
    other: Schema.optionalKey(
      Schema.Struct({ groups: F.count("How many."), count: F.count("Their rows.") }).annotate({
        description: "The further groups."
      })
    ),
    missing: F.anyCount("Rows without the field."),
    note: F.note
  }),
  run: Effect.fnUntraced(function* ({ filter, search, table, ...asked }, actor) {
    const parsed = yield* Effect.fromResult(parseMatching({ filter, search }, "/"))
    const rows = yield* Rows
    const summing = summingOf(asked)
    if (summing === undefined) return yield* rows.count(actor, table, parsed, filter)
    return yield* rows.summary(actor, table, parsed, summing, { asked: filter, fitting: withinBudget })
  })
})

// The links let whoever has them edit, so that they are no reading of a connection that may only read.
const opens = {
  hints: { ...reads, readOnlyHint: false, idempotentHint: false },
  isRead: () => true,
  output: Schema.Struct(F.linkFields)
}

const printed = Effect.map((link: object) => JsonText.trusted(print(link)))

export const openRow = tool({
  name: "open_row",
  title: "Open a row for a person",
  description:
    "Makes a page where a person sees and edits a row, and a download, both for {limits.linkMinutes}. Give them the viewer_url unchanged; whoever has it can edit.",
  ...opens,
  input: Schema.Struct({ table: F.table, id: F.id }),
  run: (target, actor) => Effect.flatMap(Links, (links) => printed(links.toRow(actor, target)))
})

export const openTextField = tool({
  name: "open_text_field",
  title: "Open a text for a person",
  description: "As open_row, for one text field of a row, with a preview of Markdown.",
  ...opens,
  input: Schema.Struct({ table: F.table, id: F.id, field: F.text("A field that is a string.") }),
  run: (target, actor) => Effect.flatMap(Links, (links) => printed(links.toTextField(actor, target)))
})
