import { Result } from "effect"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import { members, objectOf, type Member } from "../../../domain/json/Members.ts"
import { scan } from "../../../domain/json/ParseEnvelope.ts"
import { parseMatching, parseSort, type Filter, type Sort } from "../../../domain/Query.ts"
import { given } from "../PrivatePage.ts"

/** Which rows a grid shows, as its address says: with the parameters of `GET /v1/{table}`. */
export interface Ask {
  /** JSON text of an object; undefined for all rows. */
  readonly filter: string | undefined
  readonly search: string | undefined
  readonly sort: string | undefined
  readonly cursor: string | undefined
}

export const askOf = (query: URLSearchParams): Ask => ({
  filter: given(query, "filter"),
  search: given(query, "search"),
  sort: given(query, "sort"),
  cursor: given(query, "cursor")
})

/** What an address asks for, or why it asks for nothing, in words. */
export const readAsk = ({
  filter,
  search,
  sort
}: Ask): Result.Result<{ readonly filter: Filter | undefined; readonly sort: Sort | undefined }, string> => {
  const json = filter === undefined ? undefined : scan(filter)
  if (json?.issue !== undefined) return Result.fail(json.issue.message)
  const read = parseMatching({ filter: json?.value, ...(search === undefined ? {} : { search }) }, "")
  return Result.mapBoth(read, {
    onFailure: ({ detail }) => detail ?? "The filter is not valid.",
    onSuccess: (filter) => ({ filter, sort: sort === undefined ? undefined : parseSort(sort) })
  })
}

/** The operators that people choose from, as they read them. */
export const comparisons = [
  ["eq", "is"],
  ["ne", "is not"],
  ["contains", "contains"],
  ["gt", "is greater than"],
  ["gte", "is at least"],
  ["lt", "is less than"],
  ["lte", "is at most"],
  ["has", "has the item"],
  ["in", "is one of"],
  ["exists", "exists"]
] as const

/** One comparison of a filter: a field that is equal to a value has several where it is an object of operators. */
export interface Comparison {
  readonly field: string
  readonly operator: string
  /** The JSON of what the field is compared with. */
  readonly value: string
}

const fieldsOf = (filter: string | undefined): ReadonlyArray<Member> => {
  const { value } = scan(filter ?? "{}")
  return value === undefined ? [] : members(value)
}

/** The comparisons of a filter, in its order; none where it is not an object. */
export const comparisonsOf = (filter: string | undefined): ReadonlyArray<Comparison> =>
  fieldsOf(filter).flatMap(({ name: field, value }) =>
    value[0] === "{"
      ? members(JsonText.trusted(value)).map((one) => ({ field, operator: one.name, value: one.value }))
      : [{ field, operator: "eq", value }]
  )

const filterOf = (all: ReadonlyArray<Comparison>): string | undefined => {
  if (all.length === 0) return undefined
  const fields = [...Map.groupBy(all, ({ field }) => field)].map(([field, ofField]) => {
    const [first] = ofField
    const isEqual = ofField.length === 1 && first!.operator === "eq"
    const operators = ofField.map(({ operator, value }) => ({ rawName: print(operator), value }))
    return { rawName: print(field), value: isEqual ? first!.value : objectOf(operators).text }
  })
  return objectOf(fields).text
}

const isJson = (text: string): boolean =>
  /^(?:["[]|-?\d|true$|false$|null$)/.test(text) && scan(text).issue === undefined

/** What was typed, as the JSON that an operator compares with. What is no JSON is taken for a text. */
const typedValue = (operator: string, typed: string): string => {
  const text = typed.trim()
  if (operator === "contains" && !text.startsWith('"')) return print(typed)
  if (operator === "exists") return text === "false" ? "false" : "true"
  if (operator === "in" && !text.startsWith("[")) {
    return `[${text
      .split(",")
      .map((item) => (isJson(item.trim()) ? item.trim() : print(item.trim())))
      .join()}]`
  }
  return isJson(text) ? text : print(typed)
}

/** The filter with one more comparison, in place of an earlier one of the field with the same operator. */
export const withComparison = (
  filter: string | undefined,
  { field, operator, typed }: { readonly field: string; readonly operator: string; readonly typed: string }
): string => {
  const others = comparisonsOf(filter).filter((one) => one.field !== field || one.operator !== operator)
  return filterOf([...others, { field, operator, value: typedValue(operator, typed) }])!
}

/** The filter without a comparison; undefined where none is left. */
export const withoutComparison = (filter: string | undefined, { field, operator }: Comparison): string | undefined =>
  filterOf(comparisonsOf(filter).filter((one) => one.field !== field || one.operator !== operator))
