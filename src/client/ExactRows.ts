import { JsonText, print, RawNumber, readTree } from "../domain/json/JsonText.ts"
import { numberKey } from "../domain/keys/NumberKey.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import type { Numbers } from "./Options.ts"
import type { AnyRow, Filter, Stored } from "./Types.ts"

/** A value as exact JSON. Throws an `AgentMemoryError` (`invalid_request`) for what JSON cannot hold. */
export const jsonOf = (value: unknown): JsonText => {
  try {
    return JsonText.trusted(print(value))
  } catch (cause) {
    throw new AgentMemoryError({
      code: "invalid_request",
      detail: `What was passed cannot be sent as JSON: ${cause instanceof Error ? cause.message : String(cause)}.`,
      hint: "Pass plain objects, arrays, strings, finite numbers, bigints, booleans and null; a Date as its toISOString().",
      cause
    })
  }
}

/**
 * A filter as exact JSON. Refuses one with an undefined value, which JSON cannot hold: without that field the filter would
 * match more rows than was meant, and delete them.
 */
export const filterOf = (filter: Filter): JsonText => {
  // Only TypeScript refuses this before.
  if (typeof filter !== "object" || filter === null) {
    throw new AgentMemoryError({
      code: "invalid_request",
      detail: "There is no filter.",
      hint: "Pass an object of fields and their values, for example { done: true }."
    })
  }
  const missing = undefinedIn(filter)
  if (missing === undefined) return jsonOf(filter)
  const message = "is undefined; leave it out, or compare with null"
  throw new AgentMemoryError({
    code: "invalid_request",
    detail: `The filter's ${JSON.stringify(missing.join("."))} ${message}.`,
    errors: [{ path: `/filter/${missing.join("/")}`, message }]
  })
}

/** Where a filter, or an object of operators in it, has an undefined value. */
const undefinedIn = (filter: object): ReadonlyArray<string> | undefined => {
  for (const [name, value] of Object.entries(filter)) {
    if (value === undefined) return [name]
    const inside = typeof value === "object" && value !== null ? Object.entries(value as object) : []
    const found = inside.find(([, operand]) => operand === undefined)
    if (found !== undefined) return [name, found[0]]
  }
  return undefined
}

/** Reads a row as it is stored. */
export type ReadRow = (text: JsonText) => Stored<AnyRow>

/** Reads rows with their numbers as the option says. Throws an `AgentMemoryError` (`invalid_options`) for another one. */
export const rowReader = (numbers: Numbers = "number"): ReadRow => {
  const readNumber = numberReaders.get(numbers)
  if (readNumber === undefined) {
    throw new AgentMemoryError({
      code: "invalid_options",
      detail: `numbers is ${JSON.stringify(numbers)}.`,
      hint: 'Pass "number", "bigint" or "text".'
    })
  }
  return ({ text }) => readTree(text, readNumber) as Stored<AnyRow>
}

const exactNumber = (text: string): number | bigint | RawNumber => {
  const nearest = Number(text)
  if (/^-?[0-9]+$/.test(text)) return Number.isSafeInteger(nearest) ? nearest : BigInt(text)
  return Number.isFinite(nearest) && numberKey(text) === numberKey(String(nearest)) ? nearest : new RawNumber(text)
}

const numberReaders = new Map<string, (text: string) => unknown>([
  ["number", Number],
  ["bigint", exactNumber],
  ["text", (text) => new RawNumber(text)]
])
