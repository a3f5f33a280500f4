import { JsonText, print, RawNumber, readTree } from "../domain/json/JsonText.ts"
import { numberKey } from "../domain/keys/SortKey.ts"
import { AgentMemoryError, refusal } from "./AgentMemoryError.ts"
import type { Numbers } from "./Options.ts"
import type { AnyRow, Filter, Stored, Edit, Measured, Measures, Summary } from "./RowTypes.ts"

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
  const part = `The filter's ${JSON.stringify(missing.join("."))}`
  throw refusal(part, "is undefined; leave it out, or compare with null", { path: `/filter/${missing.join("/")}` })
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

/** What an update changes, while its values are not JSON yet. */
export interface SentChanges {
  readonly patch?: AnyRow | undefined
  readonly edits?: ReadonlyArray<Edit> | undefined
}

/** A patch and edits as they are sent: exact JSON where a value is any. */
export const exactChanges = <Others extends object>({ edits, patch, ...others }: SentChanges & Others) => ({
  ...others,
  patch: patch && jsonOf(patch),
  edits: edits?.map((edit) =>
    edit.op === "increment"
      ? { ...edit, by: jsonOf(edit.by) }
      : edit.op === "push"
        ? { ...edit, value: jsonOf(edit.value) }
        : edit
  )
})

/** The header that guards a delete. Throws an `AgentMemoryError` (`invalid_request`) for what no header can hold. */
export const guardHeaders = (ifUpdatedAt: string | undefined): Readonly<Record<string, string>> => {
  if (ifUpdatedAt === undefined) return {}
  const tag = `"${ifUpdatedAt}"`
  if (/^"[\x21\x23-\x7e]+"$/.test(tag)) return { "if-match": tag }
  // A header cannot hold some of these, and the failure would look like one of the network.
  throw refusal("ifUpdatedAt", "must be the updated_at of a row", { parameter: "if-match" })
}

type Exact<Members extends Measures> = Omit<Members, "sum" | "min" | "max" | "avg"> & {
  readonly [Name in (typeof names)[number]]?: Omit<Measured, "value"> & { readonly value: JsonText }
}

/** A summary as it arrives: its values are still text. */
export type ExactSummary = Omit<Exact<Summary>, "groups"> & {
  readonly groups?: ReadonlyArray<Exact<Measures> & { readonly value: JsonText }>
}

const names = ["sum", "min", "max", "avg"] as const

/** Reads the values of a summary. */
export const summaryOf = ({ groups, ...found }: ExactSummary, readValue: (text: JsonText) => unknown): Summary => {
  const measures = <Members extends Exact<Measures>>(members: Members) => {
    const read = names.flatMap((name) => {
      const measured = members[name]
      return measured === undefined ? [] : [[name, { ...measured, value: readValue(measured.value) }]]
    })
    return { ...members, ...(Object.fromEntries(read) as Measures) }
  }
  const shown = groups?.map((group) => ({ ...measures(group), value: readValue(group.value) }))
  return { ...measures(found), ...(shown && { groups: shown }) }
}
