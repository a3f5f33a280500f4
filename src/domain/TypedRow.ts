import { Result } from "effect"
import type { JsonText } from "./json/JsonText.ts"
import { members } from "./json/Members.ts"
import { scanObject } from "./json/ParseEnvelope.ts"
import { systemFields } from "./Row.ts"

/** The row that a person typed, checked by the rules of the service; a failure says what is wrong, for people. */
export const checkRow = (typed: string, limit: number): Result.Result<JsonText, string> => {
  const scanned = scanObject(typed)
  if (scanned.issue !== undefined) {
    const { code, message } = scanned.issue
    return Result.fail(code === "invalid_request" ? "A row must be a JSON object: {…}." : message)
  }
  const reserved = members(scanned.value).find(({ name }) => systemFields.has(name))
  if (reserved !== undefined) {
    return Result.fail(`The field ${reserved.name} is set by the service. Use another name.`)
  }
  if (scanned.value.bytes > limit) return Result.fail(tooLarge(scanned.value.bytes, limit))
  return Result.succeed(scanned.value)
}

/** Says by how much a row is too large. Sizes in bytes. */
const tooLarge = (bytes: number, limit: number): string =>
  `The row is ${(bytes - limit).toLocaleString("en")} bytes over the limit. Shorten it to save.`
