import { decodeString } from "./Strings.ts"
import { JsonText } from "./JsonText.ts"
import { stringClose, valueEnd } from "./SkipValue.ts"

/** One top-level member of an object. */
export interface Member {
  /** The decoded name. */
  readonly name: string
  /** The name with its quotes, as sent. */
  readonly rawName: string
  /** The JSON text of the value. */
  readonly value: string
}

/** An object's top-level members in order; none for any other value. */
export const members = (json: JsonText): ReadonlyArray<Member> => {
  const text = json.text
  const found: Array<Member> = []
  if (text.charCodeAt(0) !== 123) return found
  let i = 1
  while (text.charCodeAt(i) === 34) {
    const nameEnd = stringClose(text, i) + 1
    const end = valueEnd(text, nameEnd + 1)
    const rawName = text.slice(i, nameEnd)
    found.push({ name: decodeString(rawName), rawName, value: text.slice(nameEnd + 1, end) })
    i = end + 1
  }
  return found
}

/**
 * Merges two objects on their top level: the base's fields keep their place and take the patch's value where it has
 * one, the patch's other fields follow in its own order.
 */
export const merge = (base: JsonText, patch: JsonText): JsonText => {
  const changes = new Map(members(patch).map((member) => [member.name, member]))
  if (changes.size === 0) return base
  const parts: Array<string> = []
  for (const { name, rawName, value } of members(base)) {
    parts.push(rawName + ":" + (changes.get(name)?.value ?? value))
    changes.delete(name)
  }
  for (const { rawName, value } of changes.values()) parts.push(rawName + ":" + value)
  return JsonText.trusted("{" + parts.join(",") + "}")
}
