import { isDouble, RawNumber, readTree, type JsonText } from "../../src/domain/json/JsonText.ts"

/** JSON as JavaScript values that print back to the numbers that were sent. */
export type ExactValue =
  | null
  | boolean
  | string
  | number
  | bigint
  | RawNumber
  | ReadonlyArray<ExactValue>
  | { readonly [name: string]: ExactValue }

const INTEGER = /^-?[1-9][0-9]*$/

const exactNumber = (text: string): number | bigint | RawNumber => {
  if (isDouble(text)) return Number(text)
  return INTEGER.test(text) ? BigInt(text) : new RawNumber(text)
}

/** A text's values without any loss: numbers whose double prints back the same, else bigint, else `RawNumber`. */
export const exact = (json: JsonText): ExactValue => readTree(json.text, exactNumber) as ExactValue

/** A text's values as ordinary JavaScript: numbers become the nearest double. */
export const plain = (json: JsonText): unknown => readTree(json.text, Number)
