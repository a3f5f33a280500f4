import { shorten } from "../json/JsonIssue.ts"
import { JsonText } from "../json/JsonText.ts"
import { members } from "../json/Members.ts"
import { systemFields } from "../Row.ts"
import { commonFields, mayHave, typeOf, type TableFields, type TypeCounts } from "./Fields.ts"

interface Asked {
  readonly field: string
  readonly operator: string
  readonly value: string
}

const askedOf = (filter: JsonText): ReadonlyArray<Asked> =>
  members(filter).flatMap(({ name: field, value }) =>
    value[0] === "{"
      ? members(JsonText.trusted(value)).map(({ name, value }) => ({ field, operator: name, value }))
      : [{ field, operator: "eq", value }]
  )

const quoted = (name: string): string => JSON.stringify(shorten(name, 60))

const listed = (names: ReadonlyArray<string>): string => names.map(quoted).join(", ")

/** How many letters have to be changed, added or left out to make one word of the other. */
const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    row = next
  }
  return row[b.length]!
}

const compared = 60

/** Up to three names that a name may have been meant for, nearest first. */
const nearNames = (name: string, names: Iterable<string>): ReadonlyArray<string> => {
  const wanted = name.toLowerCase().slice(0, compared)
  const most = Math.max(1, Math.floor(wanted.length / 4))
  return [...names]
    .filter((other) => Math.abs(Math.min(other.length, compared) - wanted.length) <= most)
    .map((other) => ({ other, far: distance(wanted, other.toLowerCase().slice(0, compared)) }))
    .filter(({ far }) => far <= most)
    .toSorted((a, b) => a.far - b.far)
    .slice(0, 3)
    .map(({ other }) => other)
}

const shownNames = 12

/** Why a table that has no rows may be the wrong one: `tables` are the names of those that have some, at least one. */
export const emptyTableNote = (table: string, tables: ReadonlyArray<string>): string => {
  const none = `No table ${quoted(table)} has rows`
  const near = nearNames(table, tables)
  if (near.length > 0) return `${none}; did you mean ${listed(near)}?`
  return `${none}. Those that have are ${shown(tables)}.`
}

const shown = (names: ReadonlyArray<string>): string =>
  listed(names.slice(0, shownNames)) + (names.length > shownNames ? " and others" : "")

/** What to do about a field that no row of the table has. */
export const unknownFieldNote = (field: string, fields: TableFields): string => {
  const none = `No row has a field ${quoted(field)}`
  const near = nearNames(field, fields.keys())
  if (near.length > 0) return `${none}; did you mean ${listed(near)}?`
  const bare = /^\s*([\w.]+)\s*(?:>=|<=|!=|>|<|=)/.exec(field.slice(0, 200))?.[1]
  if (bare !== undefined && fields.has(bare)) {
    return `${none}. Operators go into the value: {${quoted(bare)}:{"gte":…}}.`
  }
  if (field.includes(".") && fields.has(field.split(".", 1)[0]!)) {
    return `${none}. Filters and sorts look at top-level fields only; search looks into nested ones.`
  }
  return `${none}. The fields are ${shown(commonFields(fields, shownNames + 1).map(([name]) => name))}.`
}

/** What to do about a field to be added up in which no row has a number. */
export const noNumbersNote = (field: string, types: TypeCounts): string => `${holding(field, types)}, not numbers.`

const holding = (field: string, types: TypeCounts): string =>
  `${quoted(field)} holds ${[...types.keys()].map((type) => `${type}s`).join(" and ")}`

const mistyped = ({ field, operator, value }: Asked, fields: TableFields): string | undefined => {
  const types = fields.get(field)
  if (types === undefined) return undefined
  const holds = holding(field, types)
  if (["eq", "gt", "gte", "lt", "lte"].includes(operator)) {
    const type = typeOf(value)
    if (types.has(type)) return undefined
    return types.has("array") ? `${holds}: use {${quoted(field)}:{"has":…}}.` : `${holds}, not ${type}s.`
  }
  if (operator === "has") return types.has("array") ? undefined : `${holds}, not arrays.`
  if (operator === "contains") return types.has("string") ? undefined : `${holds}, not strings.`
  return undefined
}

const dateOnly = /^"\d{4}-\d\d-\d\d"$/

/** What may explain that no row matched: a field that none has, or a value of another type. Undefined where nothing does. */
export const filterNote = (filter: JsonText, fields: TableFields): string | undefined => {
  for (const asked of askedOf(filter)) {
    const { field, operator, value } = asked
    if (systemFields.has(field)) {
      if (field === "id" || operator !== "eq" || !dateOnly.test(value)) continue
      return `${quoted(field)} is a time, not a date: use {${quoted(field)}:{"gte":${value},"lt":…}}.`
    }
    if (operator === "ne" || operator === "exists") continue
    const note = mayHave(fields, field) ? mistyped(asked, fields) : unknownFieldNote(field, fields)
    if (note !== undefined) return note
  }
  return undefined
}
