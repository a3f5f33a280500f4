import { decodeString } from "../../../../domain/json/Strings.ts"
import { members } from "../../../../domain/json/Members.ts"
import { stringClose } from "../../../../domain/json/SkipValue.ts"
import { JsonText } from "../../../../domain/json/JsonText.ts"

/** The JSON texts of an object's top-level members by name, in order. */
export const memberTexts = (object: string): ReadonlyMap<string, string> =>
  new Map(members(JsonText.trusted(object)).map(({ name, value }) => [name, value]))

/** The characters of a JSON string, or undefined for any other value. */
export const stringOf = (text: string | undefined): string | undefined =>
  text?.startsWith('"') === true ? decodeString(text) : undefined

const INTEGER_LIKE = /^(?:0|[1-9][0-9]*)$/

/** The names of all members of a validated, compact text, at every level. */
const names = function* (compact: string): Generator<string> {
  for (let i = 0; i < compact.length; i++) {
    if (compact.charAt(i) !== '"') continue
    const close = stringClose(compact, i)
    if (compact.charAt(close + 1) === ":") yield decodeString(compact.slice(i, close + 1))
    i = close
  }
}

/**
 * Whether JavaScript objects would change the order of a validated, compact text's members or lose one: names that
 * look like integers move to the front, and `__proto__` is no ordinary name.
 */
export const hasUnorderedNames = (compact: string): boolean =>
  names(compact).some((name) => name === "__proto__" || INTEGER_LIKE.test(name))

/** How many members a validated, compact text has at all levels together. */
export const memberCount = (compact: string): number => names(compact).reduce((count) => count + 1, 0)
