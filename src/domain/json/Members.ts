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

/** An object's top-level members by their names, in order. */
export const membersByName = (json: JsonText): ReadonlyMap<string, Member> =>
  new Map(members(json).map((member) => [member.name, member]))

/**
 * Merges a patch into an object on their top level: the base's fields keep their place and take the patch's value where it
 * has one, the patch's other fields follow in its own order.
 */
export const merge = (base: JsonText, patch: ReadonlyMap<string, Member>): JsonText => {
  if (patch.size === 0) return base
  const parts: Array<string> = []
  const replaced = new Set<string>()
  for (const { name, rawName, value } of members(base)) {
    const change = patch.get(name)
    if (change !== undefined) replaced.add(name)
    parts.push(rawName + ":" + (change?.value ?? value))
  }
  for (const { name, rawName, value } of patch.values()) {
    if (!replaced.has(name)) parts.push(rawName + ":" + value)
  }
  return JsonText.trusted("{" + parts.join(",") + "}")
}
