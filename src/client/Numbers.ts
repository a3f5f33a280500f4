import { numberKey } from "../domain/facets/NumberKey.ts"
import { RawNumber } from "../domain/json/RawNumber.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import type { Numbers } from "./Options.ts"

const INTEGER = /^-?[0-9]+$/

const exactNumber = (text: string): number | bigint | RawNumber => {
  const nearest = Number(text)
  if (INTEGER.test(text)) return Number.isSafeInteger(nearest) ? nearest : BigInt(text)
  return Number.isFinite(nearest) && numberKey(text) === numberKey(String(nearest)) ? nearest : new RawNumber(text)
}

/** How the numbers of rows are read. */
export const numberReader = (numbers: Numbers): ((text: string) => unknown) => {
  switch (numbers) {
    case "number":
      return Number
    case "bigint":
      return exactNumber
    case "text":
      return (text) => new RawNumber(text)
    default:
      throw new AgentMemoryError({
        code: "invalid_options",
        detail: `numbers is ${JSON.stringify(numbers)}.`,
        hint: 'Pass "number", "bigint" or "text".'
      })
  }
}
