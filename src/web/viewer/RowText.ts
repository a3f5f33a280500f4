import { JsonText, print } from "../../domain/json/JsonText.ts"
import { stringClose } from "../../domain/json/Lexemes.ts"
import { members } from "../../domain/json/Members.ts"
import { systemFields } from "../../domain/Row.ts"
import { objectOf } from "../../domain/RowMerge.ts"

/** How many members a validated, compact text has at all levels together. */
export const memberCount = (compact: string): number => {
  let count = 0
  for (let i = 0; i < compact.length; i++) {
    if (compact.charAt(i) !== '"') continue
    i = stringClose(compact, i)
    if (compact.charAt(i + 1) === ":") count++
  }
  return count
}

/** The members of a row text that the service does not set, as an object. */
export const ownFields = (row: string): JsonText =>
  objectOf(members(JsonText.trusted(row)).filter(({ name }) => !systemFields.has(name)))

/**
 * The body of a save: only the changed fields where that gives the edited row, else the whole row, so that fields can
 * also go away or change places.
 */
export const saveBody = (updatedAt: string, stored: JsonText, edited: JsonText): string => {
  const before = members(stored)
  const after = members(edited)
  const samePlaces = before.every(({ name }, index) => after[index]?.name === name)
  const changed = after.filter(({ value }, index) => before[index]?.value !== value)
  const change = samePlaces ? { patch: objectOf(changed) } : { row: edited }
  return print({ updated_at: updatedAt, ...change })
}
