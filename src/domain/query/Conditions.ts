import { timeText } from "../Row.ts"
import { Result } from "effect"
import { pointerTo } from "../json/JsonIssue.ts"
import { JsonText } from "../json/JsonText.ts"
import { decodeString } from "../json/Lexemes.ts"
import { members, readItems, type Member } from "../json/Members.ts"
import { comparePoints, encodeText, sortKey } from "../keys/SortKey.ts"
import { maxInValues } from "../Limits.ts"
import { invalid, type InvalidRequest } from "../Problem.ts"
import { fold } from "./SearchWords.ts"

const spelling = /^(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d))?$/

/**
 * The instant of an RFC 3339 time in any offset, or of a date's midnight in UTC, in milliseconds since 1970 UTC; undefined
 * for any other text. Finer fractions lie half a millisecond behind: all that whole milliseconds are compared with.
 */
export const instantOf = (text: string): number | undefined => {
  const parts = spelling.exec(text)
  if (parts === null) return undefined
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] = parts
  const whole = Date.parse(
    `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, "0")}Z`
  )
  // A day that a month does not have is another day to the engine.
  if (Number.isNaN(whole) || timeText(whole).slice(8, 10) !== day) return undefined
  const rest = /[1-9]/.test(fraction.slice(3)) ? 0.5 : 0
  if (zone === "Z" || zone === "z") return whole + rest
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(4))]
  if (hours > 23 || minutes > 59) return undefined
  return whole + rest - (zone[0] === "-" ? -1 : 1) * (hours * 60 + minutes) * 60_000
}

/** The operators of a filter. */
export const operators = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "contains", "has"] as const
type Operator = (typeof operators)[number]

/** Whether a field's key is equal to another or not, in a place of their order, one of several, or there at all. */
export type KeyCondition =
  | { readonly operator: "eq" | "ne" | "gt" | "gte" | "lt" | "lte"; readonly key: string }
  | { readonly operator: "in"; readonly keys: ReadonlySet<string> }
  | { readonly operator: "exists"; readonly exists: boolean }

/** Whether a row's time is after an instant in milliseconds, from it on, before it or until it. */
export interface TimeCondition {
  readonly operator: "gt" | "gte" | "lt" | "lte"
  readonly instant: number
}

/** Whether a text occurs in a field's folded string, or as an element ({@link elementText}) in its array. */
export type TextCondition = { readonly name: string } & {
  readonly operator: "contains" | "has"
  readonly text: string
}

/** What a field is compared with, by its name in stored sort keys. Being equal is no condition, as indexes find it. */
export type Condition = TextCondition | ({ readonly name: string } & (KeyCondition | TimeCondition))

const times: ReadonlySet<string> = new Set(["created_at", "updated_at"])

/** Whether the JSON text of a value is neither an object nor an array. */
export const isScalar = (value: string): boolean => value[0] !== "{" && value[0] !== "["

/** The key of an array's element where those of all its elements are one text: keys have no NUL. */
export const elementText = (value: string): string => `\u0000${sortKey(value)}\u0000`

const scalarWords = "must be a string, number, boolean or null"

const conditionOf = (field: string, operator: Exclude<Operator, "eq">, value: string): Condition | string => {
  const name = encodeText(field)
  switch (operator) {
    case "ne":
      return isScalar(value) ? { name, operator, key: sortKey(value) } : scalarWords
    case "has":
      return isScalar(value) ? { name, operator, text: elementText(value) } : scalarWords
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      if (times.has(field)) {
        const instant = value[0] === '"' ? instantOf(decodeString(value)) : undefined
        return instant === undefined
          ? "must be an RFC 3339 time or a date, such as 2026-03-01"
          : { name, operator, instant }
      }
      const key = sortKey(value)
      return key[0] === "1" || key[0] === "2" ? { name, operator, key } : "must be a number or a string"
    }
    case "in": {
      const items = value[0] === "[" ? readItems(value) : []
      return items.length === 0 || items.length > maxInValues || !items.every(isScalar)
        ? `must be an array of 1 to ${maxInValues} strings, numbers, booleans or nulls`
        : { name, operator, keys: new Set(items.map(sortKey)) }
    }
    case "exists":
      return value === "true" || value === "false"
        ? { name, operator, exists: value === "true" }
        : "must be true or false"
    case "contains": {
      const text = value[0] === '"' ? fold(decodeString(value)) : ""
      return text === "" ? "must be a string with something to look for" : { name, operator, text }
    }
  }
}

const isOperator = (name: string): name is Operator => (operators as ReadonlyArray<string>).includes(name)

/**
 * Reads a field's object of operators: a scalar that the field has to be `equal` to, as in a filter without operators, and
 * other conditions. `at` is the field's place in the request.
 */
export const parseConditions = (
  field: Member,
  at: string
): Result.Result<{ equal: Member | undefined; conditions: ReadonlyArray<Condition> }, InvalidRequest> => {
  const refuse = (operator: string, message: string) => Result.fail(invalid(at + pointerTo([operator]), message))
  let equal: Member | undefined
  const conditions: Array<Condition> = []
  for (const { name, value } of members(JsonText.trusted(field.value))) {
    if (!isOperator(name)) return refuse(name, `is no operator: use ${operators.join(", ")}`)
    if (name === "eq") {
      if (!isScalar(value)) return refuse(name, scalarWords)
      equal = { ...field, value }
      continue
    }
    const condition = conditionOf(field.name, name, value)
    if (typeof condition === "string") return refuse(name, condition)
    conditions.push(condition)
  }
  return Result.succeed({ equal, conditions })
}

/** Whether a field's key decides a condition. */
export const isKeyCondition = (condition: Condition): condition is { readonly name: string } & KeyCondition =>
  "key" in condition || "keys" in condition || "exists" in condition

/** Whether a field with this key (undefined where it is missing) meets a condition. */
export const keyMeets = (condition: KeyCondition, key: string | undefined): boolean => {
  switch (condition.operator) {
    case "eq":
      return key === condition.key
    case "ne":
      return key !== condition.key
    case "in":
      return key !== undefined && condition.keys.has(key)
    case "exists":
      return (key !== undefined) === condition.exists
    default: {
      if (key === undefined || key[0] !== condition.key[0]) return false
      return isOrder(condition.operator, comparePoints(key, condition.key))
    }
  }
}

/** Whether a time in milliseconds meets a condition. */
export const timeMeets = ({ instant, operator }: TimeCondition, at: number): boolean => isOrder(operator, at - instant)

const isOrder = (operator: TimeCondition["operator"], order: number): boolean =>
  order === 0 ? operator.endsWith("e") : order > 0 === operator.startsWith("g")
