import { flat, JsonText } from "../json/JsonText.ts"
import { members, membersWork, readItems } from "../json/Members.ts"
import { type Row, rowText, timeText } from "../Row.ts"
import { Pace, type Turns } from "../Turns.ts"
import { Result } from "effect"
import { decodeString } from "../json/Lexemes.ts"
import { scan } from "../json/ParseEnvelope.ts"
import { invalid, type InvalidRequest } from "../Problem.ts"

export const fieldTypes = ["string", "number", "boolean", "null", "array", "object"] as const
export type FieldType = (typeof fieldTypes)[number]

const typesByStart = new Map<string | undefined, FieldType>([
  ['"', "string"],
  ["[", "array"],
  ["{", "object"],
  ["n", "null"],
  ["f", "boolean"],
  ["t", "boolean"]
])

/** The type of a value, given as its JSON text. */
export const typeOf = (value: string): FieldType => typesByStart.get(value[0]) ?? "number"

/** How many rows have a field, by the type of its value. */
export type TypeCounts = ReadonlyMap<FieldType, number>

/** The fields of a table's rows by their names, in the order in which they are met. */
export type TableFields = ReadonlyMap<string, TypeCounts>

/** So many names are learned of a table; fields that are met later are left out. */
const mostKnown = 2000

/** The longest name of a field that is told, in characters. */
const longestName = 200

/** When the row that changed last did so, in milliseconds; undefined without rows. */
export const lastChange = (rows: ReadonlyArray<Pick<Row, "updatedAt">>): number | undefined =>
  rows.length === 0 ? undefined : rows.reduce((last, { updatedAt }) => Math.max(last, updatedAt), 0)

/** Looks at all rows of a table, in turns. */
export function* fieldsOf(rows: Iterable<Pick<Row, "data">>): Turns<TableFields> {
  const fields = new Map<string, Map<FieldType, number>>()
  const pace = new Pace()
  for (const { data } of rows) {
    for (const { name, value } of members(data)) {
      let types = fields.get(name)
      if (types === undefined) {
        if (fields.size === mostKnown || name.length > longestName) continue
        types = new Map()
        // A slice would keep the row's text in memory.
        fields.set(flat(name), types)
      }
      const type = typeOf(value)
      types.set(type, (types.get(type) ?? 0) + 1)
    }
    yield* pace.worked(membersWork * data.length)
  }
  return fields
}

/** So many fields of a table are told. */
export const maxToldFields = 50

/** Whether a row may have a field: where not all are told, any may. */
export const mayHave = (fields: TableFields, name: string): boolean =>
  fields.has(name) || fields.size === mostKnown || name.length > longestName

const rowsWith = (types: TypeCounts): number => types.values().reduce((sum, count) => sum + count, 0)

/** The fields that most rows have, most first. */
export const commonFields = (fields: TableFields, most: number): ReadonlyArray<readonly [string, TypeCounts]> =>
  [...fields].toSorted(([, a], [, b]) => rowsWith(b) - rowsWith(a)).slice(0, most)

/** Which fields of rows a response has: `own` is all but the times that the service keeps. `id` always comes along. */
export type Selection = { readonly kind: "own" } | { readonly kind: "named"; readonly names: ReadonlySet<string> }

/** The most names in a choice of fields. */
export const maxFields = 50

/** The name that stands for all of a row's own fields. */
export const ownFields = "*"

/** The choice of 1 to 50 names. `at` is their place in the request. */
export const selectionOf = (names: ReadonlyArray<string>, at: string): Result.Result<Selection, InvalidRequest> => {
  if (names.length === 0 || names.length > maxFields) {
    return Result.fail(invalid(at, `must name 1 to ${maxFields} fields, and names ${names.length}`))
  }
  return Result.succeed(names.includes(ownFields) ? { kind: "own" } : { kind: "named", names: new Set(names) })
}

/** Reads `fields` of a query string: names with commas between them, or a JSON array of names. */
export const parseSelection = (text: string, at: string): Result.Result<Selection, InvalidRequest> => {
  const names = text.startsWith("[") ? namesIn(text) : text === "" ? [] : text.split(",")
  return names === undefined
    ? Result.fail(invalid(at, "must be a JSON array of names, or names with commas between them"))
    : selectionOf(names, at)
}

const namesIn = (text: string): ReadonlyArray<string> | undefined => {
  const { value } = scan(text)
  const items = value === undefined ? undefined : readItems(value.text)
  return items?.every((item) => item[0] === '"') === true ? items.map(decodeString) : undefined
}

/** The chosen fields of a row, in the row's order and each with its value as it was stored. */
export const selectedText = (row: Row, selection: Selection): string => {
  let text = `{"id":"${row.id}"`
  if (selection.kind === "own") {
    const own = row.data.text
    return own.length === 2 ? `${text}}` : `${text},${own.slice(1)}`
  }
  const { names } = selection
  if (names.has("created_at")) text += `,"created_at":"${timeText(row.createdAt)}"`
  if (names.has("updated_at")) text += `,"updated_at":"${timeText(row.updatedAt)}"`
  for (const { name, rawName, value } of members(row.data)) if (names.has(name)) text += `,${rawName}:${value}`
  return `${text}}`
}

/** Rows as a response shows them, whole or with the chosen fields, in turns. */
export function* shownTexts(
  rows: ReadonlyArray<Row>,
  selection: Selection | undefined
): Turns<ReadonlyArray<JsonText>> {
  const pace = new Pace()
  const texts: Array<JsonText> = []
  for (const row of rows) {
    texts.push(selection === undefined ? rowText(row) : JsonText.trusted(selectedText(row, selection)))
    yield* pace.worked(membersWork * row.data.length)
  }
  return texts
}
