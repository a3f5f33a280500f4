import type { Member } from "../json/Members.ts"
import { facetMapOf } from "./FacetMap.ts"
import { facetsOfFields, type Facets } from "./Facets.ts"

/** An equality filter over a row's own fields, as `Facets` for SQL and as keys for use in memory. */
export interface FieldFilter extends Facets {
  /** Full keys by encoded name, for `mapMatches`. */
  readonly wanted: ReadonlyMap<string, string>
}

/** The filter for fields with distinct names and scalar values (arrays and objects would all be equal). */
export const filterFacets = (fields: ReadonlyArray<Member>): FieldFilter => ({
  ...facetsOfFields(fields),
  wanted: facetMapOf(fields)
})
