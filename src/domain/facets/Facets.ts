import type { JsonText } from "../json/JsonText.ts"
import { members, type Member } from "../json/Members.ts"
import { encodeText } from "./EncodeText.ts"
import { facetKey } from "./FacetKey.ts"
import { isLong, shortKey } from "./ShortKey.ts"

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
export interface Facets {
  /** Every field's short key (`shortKey`). */
  readonly short: string
  /** The full keys of those fields whose short key is cut; null when there are none. */
  readonly long: string | null
}

/** The facets of a row's fields. */
export const facetsOf = (row: JsonText): Facets => facetsOfFields(members(row))

/** The facets of fields with distinct names. */
export const facetsOfFields = (fields: ReadonlyArray<Member>): Facets => {
  let short = ""
  let long = ""
  for (const field of fields) {
    const key = facetKey(field.value)
    const name = printedName(field)
    if (isLong(key)) {
      long += `${long === "" ? "{" : ","}${name}:${JSON.stringify(key)}`
      short += `${short === "" ? "{" : ","}${name}:${JSON.stringify(shortKey(key))}`
    } else {
      short += `${short === "" ? "{" : ","}${name}:${JSON.stringify(key)}`
    }
  }
  return { short: short === "" ? "{}" : short + "}", long: long === "" ? null : long + "}" }
}

const printedName = (field: Member): string => {
  const encoded = encodeText(field.name)
  // A name that spells itself was sent as valid JSON already.
  return encoded === field.name && field.rawName.length === encoded.length + 2 ? field.rawName : JSON.stringify(encoded)
}
