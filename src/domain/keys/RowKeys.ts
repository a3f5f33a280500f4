import { flat, type JsonText } from "../json/JsonText.ts"
import { members, type Member } from "../json/Members.ts"
import { encodeText, sortKey, isLong, shortKey } from "./SortKey.ts"

/**
 * What a row's top-level fields are found and sorted by: two flat JSON objects from encoded names to keys, for jsonb
 * columns. An encoded name (`encodeText`) is to be bound as a parameter wherever SQL names a field.
 *
 * Equality is exact as flat containment: `short @> filter.short AND (filter.long IS NULL OR long @> filter.long)`.
 *
 * The written sort order, with `DESC` on the middle two terms alone for a descending sort:
 *
 * ```sql
 * ORDER BY
 *   CASE WHEN short ->> name IS NULL THEN 2 WHEN short ->> name = '0' THEN 1 ELSE 0 END,
 *   (short ->> name) COLLATE "C" ASC,
 *   (long ->> name) COLLATE "C" ASC,
 *   insertion_order
 * ```
 */
export interface RowKeys {
  /** Every field's short key (`shortKey`). */
  readonly short: string
  /** The full keys of those fields whose short key is cut; null when there are none. */
  readonly long: string | null
}

/** The sort keys of a row's fields. */
export const rowKeys = (row: JsonText): RowKeys => keysOfFields(members(row))

/** The sort keys of fields with distinct names. */
const keysOfFields = (fields: ReadonlyArray<Member>): RowKeys => {
  let short = ""
  let long = ""
  for (const field of fields) {
    const key = sortKey(field.value)
    const name = printedName(field)
    if (isLong(key)) {
      long += `${long === "" ? "{" : ","}${name}:${JSON.stringify(key)}`
      short += `${short === "" ? "{" : ","}${name}:${JSON.stringify(shortKey(key))}`
    } else {
      short += `${short === "" ? "{" : ","}${name}:${JSON.stringify(key)}`
    }
  }
  // As chains of pieces, those of a thousand fields take many times their length.
  return { short: short === "" ? "{}" : flat(short + "}"), long: long === "" ? null : flat(long + "}") }
}

const printedName = (field: Member): string => {
  const encoded = encodeText(field.name)
  // A name that spells itself was sent as valid JSON already.
  return encoded === field.name && field.rawName.length === encoded.length + 2 ? field.rawName : JSON.stringify(encoded)
}

/** Full keys by encoded name of those fields of a row that are wanted, for use in memory. */
export const keysByField = (row: JsonText, wanted: ReadonlySet<string>): Map<string, string> => {
  const keys = new Map<string, string>()
  for (const { name, value } of members(row)) {
    const encoded = encodeText(name)
    if (wanted.has(encoded)) keys.set(encoded, sortKey(value))
  }
  return keys
}

const mapOfFields = (fields: ReadonlyArray<Member>): Map<string, string> => {
  const keys = new Map<string, string>()
  for (const field of fields) keys.set(encodeText(field.name), sortKey(field.value))
  return keys
}

/** Whether a row has every wanted field with an equal key. */
export const keysMatch = (row: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>): boolean => {
  for (const [name, key] of wanted) if (row.get(name) !== key) return false
  return true
}

/** An equality filter over a row's own fields, as `RowKeys` for SQL and as keys for use in memory. */
export interface FieldFilter extends RowKeys {
  /** Full keys by encoded name, for `keysMatch`. */
  readonly wanted: ReadonlyMap<string, string>
}

/** The filter for fields with distinct names and scalar values (arrays and objects would all be equal). */
export const fieldFilter = (fields: ReadonlyArray<Member>): FieldFilter => ({
  ...keysOfFields(fields),
  wanted: mapOfFields(fields)
})

/** The issue of a delete whose filter is neither in its body nor in the query string, or in both. */
export const missingFilter = { path: "/filter", message: "must be given once" }
