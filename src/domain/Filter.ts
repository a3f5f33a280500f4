import { Result } from "effect"
import { filterFacets, type FieldFilter } from "./facets/Filter.ts"
import { invalid } from "./InvalidPlaces.ts"
import { pointerTo } from "./json/JsonIssue.ts"
import { members, type Member } from "./json/Members.ts"
import { decodeString } from "./json/Strings.ts"
import type { JsonText } from "./json/JsonText.ts"
import type { InvalidRequest } from "./Problem.ts"
import { isRowId, systemFields, timeOf, type Row } from "./Row.ts"

/**
 * An equality filter over top-level fields (specification section 2.3): a row matches when every named field is
 * present with the given type and value. Numbers compare by value at any precision, strings by code unit.
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
}

/** The most fields that a filter may compare, and how long it may be. */
const maxConditions = 50
const maxFilterBytes = 16_384

const isScalar = (value: string): boolean => value[0] !== "{" && value[0] !== "["

/**
 * Reads a filter from its JSON object: of at most 50 fields and 16,384 bytes. `at` is where it stands in the request, for the
 * places that errors name.
 */
export const parseFilter = (text: JsonText, at: string): Result.Result<Filter, InvalidRequest> => {
  if (text.text[0] !== "{") return Result.fail(invalid(at, "must be a JSON object of field names and values"))
  if (text.bytes > maxFilterBytes) {
    return Result.fail(invalid(at, `may have ${maxFilterBytes} bytes, and has ${text.bytes}; compare shorter values`))
  }
  const fields = members(text)
  if (fields.length > maxConditions) {
    return Result.fail(invalid(at, `may compare ${maxConditions} fields, and compares ${fields.length}`))
  }
  const nested = fields.find((field) => !isScalar(field.value))
  if (nested !== undefined) {
    return Result.fail(
      invalid(at + pointerTo([nested.name]), "must be a string, number, boolean or null: filters compare scalars")
    )
  }
  return Result.succeed(filterOf(fields))
}

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
    fields: filterFacets(fields.filter((field) => !systemFields.has(field.name)))
  }
}

/** Whether a row's system fields are those that the filter names; its own fields are compared by their facets. */
export const matchesSystemFields = (filter: Filter, row: Pick<Row, "id" | "createdAt" | "updatedAt">): boolean =>
  !filter.isImpossible &&
  (filter.id === undefined || filter.id === row.id) &&
  (filter.createdAt === undefined || filter.createdAt === row.createdAt) &&
  (filter.updatedAt === undefined || filter.updatedAt === row.updatedAt)
