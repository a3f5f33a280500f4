import { encodeText } from "./facets/EncodeText.ts"
import type { Filter } from "./Filter.ts"

/**
 * A field to sort by. Rows that compare equal stay in insertion order; those of equal `created_at` or `updated_at` are in
 * reverse insertion order where the sort is descending, so that the newest come first.
 */
export interface Sort {
  readonly field: string
  /** The field's name as the stored facets have it. */
  readonly facet: string
  readonly descending: boolean
}

/** Reads `field` or `-field`. A field whose own name begins with `-` is sorted by `--name` or `-` and its name. */
export const parseSort = (text: string): Sort => {
  const descending = text.startsWith("-")
  const field = descending ? text.slice(1) : text
  return { field, facet: encodeText(field), descending }
}

/** Which rows of a table, in which order, how many at most. */
export interface Query {
  readonly filter: Filter | undefined
  readonly sort: Sort | undefined
  readonly limit: number
}
