import { maxFilterBytes, maxFilterConditions } from "./Limits.ts"
import { Result, Schema } from "effect"
import { encodeText, fieldFilter, type FieldFilter } from "./keys/SortKey.ts"
import { invalid, type InvalidRequest } from "./Problem.ts"
import { pointerTo } from "./json/JsonIssue.ts"
import { members, type Member } from "./json/Members.ts"
import { decodeString } from "./json/Lexemes.ts"
import type { JsonText } from "./json/JsonText.ts"
import { isScalar, parseConditions, type Condition } from "./query/Conditions.ts"
import type { Position } from "./query/Cursor.ts"
import type { Look } from "./query/Look.ts"
import { parseSearch } from "./query/SearchWords.ts"
import { isRowId, systemFields, timeOf, type Row } from "./Row.ts"

/** A field to sort by. Equal rows stay in insertion order; those of equal times are in reverse where the sort is descending. */
export interface Sort {
  readonly field: string
  readonly encoded: string
  readonly descending: boolean
}

const words = /^[-+]?\s*(.*?)\s*(?:[\s:,]\s*(asc|ascending|desc|descending))$/is

/** What is wrong with a sort that is spelled as in other languages; undefined for any that may name a field. */
const sortFault = (text: string): string | undefined => {
  if (text !== "" && text.trim() === "") return "must name a field"
  const [, field = "", direction = ""] = text.length > 200 ? [] : (words.exec(text) ?? [])
  if (field === "") return undefined
  const wanted = `${direction.toLowerCase().startsWith("d") ? "-" : ""}${field}`
  return `must be the name of a field, with - in front for descending order: use ${JSON.stringify(wanted)}`
}

/** A field to sort by, as requests name it. */
export const SortName = Schema.String.check(
  Schema.makeFilter((text) => sortFault(text) ?? true),
  Schema.isNonEmpty({ message: "must name a field" })
)

/** Reads `field` or `-field`. A field whose own name begins with `-` is sorted by `--name` or `-` and its name. */
export const parseSort = (text: string): Sort => {
  const descending = text.startsWith("-")
  const field = descending ? text.slice(1) : text
  return { field, encoded: encodeText(field), descending }
}

/** Which rows of a table, in which order, how many at most. */
export interface Query {
  readonly filter: Filter | undefined
  readonly sort: Sort | undefined
  readonly limit: number
  /** Only rows that are yet to come behind this place. */
  readonly after?: Position | undefined
}

/**
 * Which rows match: those whose fields are present with the given type and value, that meet all conditions, and in whose
 * strings every word occurs. Numbers compare by value at any precision, strings by code point.
 */
export interface Filter {
  /** Nothing is named, so every row matches. */
  readonly isEmpty: boolean
  /** A system field is compared with a value that no row can have. */
  readonly isImpossible: boolean
  readonly id: string | undefined
  readonly createdAt: number | undefined
  readonly updatedAt: number | undefined
  readonly fields: FieldFilter
  readonly conditions: ReadonlyArray<Condition>
  readonly words: ReadonlyArray<string>
  /** The JSON of a filter with conditions: equal texts ask for the same. */
  readonly text: string
}

/** Reads a filter: fields with scalars that they have to equal, or objects of operators. `at` is its place, for errors. */
export const parseFilter = (text: JsonText, at: string): Result.Result<Filter, InvalidRequest> => {
  if (text.text[0] !== "{") return Result.fail(invalid(at, "must be a JSON object of field names and values"))
  if (text.bytes > maxFilterBytes) {
    return Result.fail(
      invalid(at, `has ${text.bytes} bytes, and the limit is ${maxFilterBytes}; compare shorter values`)
    )
  }
  const fields = members(text)
  const equal: Array<Member> = []
  const conditions: Array<Condition> = []
  for (const field of fields) {
    const place = at + pointerTo([field.name])
    if (isScalar(field.value)) {
      equal.push(field)
      continue
    }
    if (field.value[0] === "[" || field.value === "{}") {
      return Result.fail(invalid(place, "must be a string, number, boolean or null, or an object of operators"))
    }
    const parsed = parseConditions(field, place)
    if (Result.isFailure(parsed)) return Result.fail(parsed.failure)
    if (parsed.success.equal !== undefined) equal.push(parsed.success.equal)
    conditions.push(...parsed.success.conditions)
  }
  const count = equal.length + conditions.length
  return count > maxFilterConditions
    ? Result.fail(invalid(at, `makes ${count} comparisons, and the limit is ${maxFilterConditions}`))
    : Result.succeed({
        ...filterOf(equal),
        isEmpty: fields.length === 0,
        conditions,
        text: conditions.length === 0 ? "" : text.text
      })
}

/** Which rows a request asks for, as it is sent: a filter, words to search for, or both. */
export interface Matching {
  readonly filter: JsonText | undefined
  readonly search?: string | undefined
}

/** Reads which rows a request asks for; undefined for all rows. `at` is what comes before the two names in errors. */
export const parseMatching = (
  { filter, search }: Matching,
  at: string
): Result.Result<Filter | undefined, InvalidRequest> => {
  const parsed = filter === undefined ? Result.succeed(noFields) : parseFilter(filter, `${at}filter`)
  if (search === undefined) return Result.map(parsed, (filter) => (filter.isEmpty ? undefined : filter))
  return Result.flatMap(parsed, (filter) =>
    Result.map(parseWords(search, `${at}search`), ({ isEmpty, words }) => ({ ...filter, isEmpty, words }))
  )
}

/** The filter of all rows that have the words of a search. `at` is its place in the request, for errors. */
export const parseWords = (search: string, at: string): Result.Result<Filter, InvalidRequest> =>
  Result.map(parseSearch(search, at), (words) => ({ ...noFields, isEmpty: false, words }))

/** The filter that names these fields. Every value must be a scalar. */
export const filterOf = (fields: ReadonlyArray<Member>): Filter => {
  let isImpossible = false
  const text = (name: string): string | undefined => {
    const field = fields.find((field) => field.name === name)
    if (field === undefined) return undefined
    if (field.value[0] === '"') return decodeString(field.value)
    isImpossible = true
    return undefined
  }
  const time = (name: string): number | undefined => {
    const value = text(name)
    if (value === undefined) return undefined
    const instant = timeOf(value)
    if (instant === undefined) isImpossible = true
    return instant
  }
  const id = text("id")
  if (id !== undefined && !isRowId(id)) isImpossible = true
  const createdAt = time("created_at")
  const updatedAt = time("updated_at")
  return {
    isEmpty: fields.length === 0,
    isImpossible,
    id: isImpossible ? undefined : id,
    createdAt,
    updatedAt,
    fields: fieldFilter(fields.filter((field) => !systemFields.has(field.name))),
    conditions: [],
    words: [],
    text: ""
  }
}

/** The filter of every row. */
export const noFields = filterOf([])

/** Whether a filter asks for more than equal fields. */
export const hasConditions = ({ conditions, words }: Filter): boolean => conditions.length > 0 || words.length > 0

/** Whether a row meets the conditions of a filter and has the words of its search. */
export const meetsConditions = ({ conditions, words }: Filter, look: Look): boolean =>
  conditions.every((condition) => look.meets(condition)) && look.hasWords(words)

/** Whether a row's system fields are those that the filter names; its own fields are compared by their keys. */
export const matchesSystemFields = (filter: Filter, row: Pick<Row, "id" | "createdAt" | "updatedAt">): boolean =>
  !filter.isImpossible &&
  (filter.id === undefined || filter.id === row.id) &&
  (filter.createdAt === undefined || filter.createdAt === row.createdAt) &&
  (filter.updatedAt === undefined || filter.updatedAt === row.updatedAt)

const pattern = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

/** The rule of table names, for refusals. */
export const tableNameRule = "must be a letter followed by at most 63 letters, digits, _ or -"

/** Whether a text can be the name of a table. */
export const isTableName = (text: string): boolean => pattern.test(text)

/** The name of a table. */
export const TableName = Schema.String.check(Schema.isPattern(pattern, { message: tableNameRule })).annotate({
  description: "A letter, then letters, digits, `_` or `-`; at most 64 characters.",
  examples: ["tasks"]
})
