import { flat } from "../json/JsonText.ts"
import { members, membersWork } from "../json/Members.ts"
import type { Row } from "../Row.ts"
import { Pace, type Turns } from "../Turns.ts"

export const fieldTypes = ["string", "number", "boolean", "null", "array", "object"] as const
export type FieldType = (typeof fieldTypes)[number]

/** The type of a value, given as its JSON text. */
export const typeOf = (value: string): FieldType => {
  switch (value.charCodeAt(0)) {
    case 34:
      return "string"
    case 91:
      return "array"
    case 123:
      return "object"
    case 110:
      return "null"
    case 102:
    case 116:
      return "boolean"
    default:
      return "number"
  }
}

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
