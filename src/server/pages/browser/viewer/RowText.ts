import { Result } from "effect"
import { JsonText } from "../../../../domain/json/JsonText.ts"
import { members } from "../../../../domain/json/Members.ts"
import { print } from "../../../../domain/json/Print.ts"
import { scanObject } from "../../../../domain/json/Scan.ts"
import { systemFields } from "../../../../domain/Row.ts"
import { tree } from "./EditorJson.ts"
import { hasUnorderedNames } from "./JsonParts.ts"

/** The members of a row text that the service does not set, as an object. */
export const ownFields = (row: string): JsonText =>
  objectOf(members(JsonText.trusted(row)).filter(({ name }) => !systemFields.has(name)))

const objectOf = (parts: ReadonlyArray<{ readonly rawName: string; readonly value: string }>): JsonText =>
  JsonText.trusted("{" + parts.map(({ rawName, value }) => rawName + ":" + value).join(",") + "}")

/** The row that a person typed, checked by the rules of the service; a failure says what is wrong, for people. */
export const checkRow = (typed: string, limit: number): Result.Result<JsonText, string> => {
  const scanned = scanObject(typed)
  if (scanned.issue !== undefined) {
    const { code, message } = scanned.issue
    return Result.fail(code === "invalid_request" ? "A row is a JSON object: {…}." : message)
  }
  const reserved = members(scanned.value).find(({ name }) => systemFields.has(name))
  if (reserved !== undefined) {
    return Result.fail(`The field ${reserved.name} is set by the service. Give yours another name.`)
  }
  if (scanned.value.bytes > limit) return Result.fail(tooLarge(scanned.value.bytes, limit))
  return Result.succeed(scanned.value)
}

/** Says how much has to go before a row can be saved. Sizes in bytes. */
export const tooLarge = (bytes: number, limit: number): string =>
  `The row is ${(bytes - limit).toLocaleString("en")} bytes over its limit. Shorten it to save.`

const canonical = (value: string): string => print(tree(JsonText.trusted(value)))

/** Spells the names and values that did not change as they are stored: editing one field leaves all others alone. */
export const keepSpelling = (stored: JsonText, edited: JsonText): JsonText => {
  const before = new Map(members(stored).map((member) => [member.name, member]))
  return objectOf(
    members(edited).map((member) => {
      const old = before.get(member.name)
      if (old === undefined) return member
      // A tree loses the order of some names, and such a row was typed as text: what differs was meant.
      const same =
        old.value === member.value ||
        (!hasUnorderedNames(member.value) && canonical(old.value) === canonical(member.value))
      return { rawName: old.rawName, value: same ? old.value : member.value }
    })
  )
}

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
