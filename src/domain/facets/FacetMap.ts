import type { JsonText } from "../json/JsonText.ts"
import { members, type Member } from "../json/Members.ts"
import { encodeText } from "./EncodeText.ts"
import { facetKey } from "./FacetKey.ts"

/** Full keys by encoded name: a row's facets for use in memory. */
export const facetMap = (row: JsonText): Map<string, string> => facetMapOf(members(row))

/** Full keys by encoded name. */
export const facetMapOf = (fields: ReadonlyArray<Member>): Map<string, string> => {
  const keys = new Map<string, string>()
  for (const field of fields) keys.set(encodeText(field.name), facetKey(field.value))
  return keys
}

/** Whether a row has every wanted field with an equal key. */
export const mapMatches = (row: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>): boolean => {
  for (const [name, key] of wanted) if (row.get(name) !== key) return false
  return true
}
