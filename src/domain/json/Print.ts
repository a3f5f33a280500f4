import { JsonText } from "./JsonText.ts"
import { RawNumber } from "./RawNumber.ts"

const isRawJson = (JSON as { readonly isRawJSON?: (value: unknown) => boolean }).isRawJSON

/**
 * Compact JSON of a tree of plain values, with each `JsonText` and `RawNumber` as it is and each bigint as digits.
 *
 * Members without a JSON form (undefined, functions, symbols) are left out, such items are null. No `toJSON` is called:
 * a field of that name is data. Lone surrogates and NUL come out as escapes, -0 as `-0`.
 *
 * Throws a TypeError for numbers that are not finite, and for instances of other classes.
 */
export const print = (value: unknown): string => printValue(value) ?? "null"

const printValue = (value: unknown): string | undefined => {
  switch (typeof value) {
    case "string":
      return JSON.stringify(value)
    case "number":
      return printNumber(value)
    case "boolean":
    case "bigint":
      return String(value)
    case "object":
      return value === null ? "null" : printObject(value)
    default:
      return undefined
  }
}

const printNumber = (value: number): string => {
  if (!Number.isFinite(value)) throw new TypeError(`JSON has no number ${value}`)
  return Object.is(value, -0) ? "-0" : String(value)
}

const printObject = (value: object): string => {
  if (value instanceof JsonText || value instanceof RawNumber) return value.text
  if (Array.isArray(value)) return printItems(value)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype === null && isRawJson?.(value) === true) return (value as { readonly rawJSON: string }).rawJSON
  if (prototype !== null && prototype !== Object.prototype) {
    throw new TypeError(`Only plain values can be printed as JSON, not ${value.constructor?.name ?? "this object"}`)
  }
  return printMembers(value as Record<string, unknown>)
}

const printItems = (items: ReadonlyArray<unknown>): string => {
  let text = "["
  for (let i = 0; i < items.length; i++) text += (i === 0 ? "" : ",") + (printValue(items[i]) ?? "null")
  return text + "]"
}

const printMembers = (value: Record<string, unknown>): string => {
  let text = "{"
  for (const name of Object.keys(value)) {
    const printed = printValue(value[name])
    if (printed !== undefined) text += (text.length === 1 ? "" : ",") + JSON.stringify(name) + ":" + printed
  }
  return text + "}"
}
