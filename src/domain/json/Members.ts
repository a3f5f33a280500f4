import { decodeString, stringClose, valueEnd } from "./Lexemes.ts"
import { JsonText } from "./JsonText.ts"

/** One top-level member of an object. */
export interface Member {
  readonly name: string
  /** The name with its quotes, as sent. */
  readonly rawName: string
  readonly value: string
}

/** How much longer it takes to read an object of many short members than to go through its characters. */
export const membersWork = 4

/** An object's top-level members in order; empty for any other value. */
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

/** An object of these members, whose names and values are valid JSON. */
export const objectOf = (parts: ReadonlyArray<Omit<Member, "name">>): JsonText =>
  JsonText.trusted("{" + parts.map(({ rawName, value }) => rawName + ":" + value).join(",") + "}")

/** Merges a patch into an object, at the top level: in the base's order, then the patch's other fields in theirs. */
export const merge = (base: JsonText, patch: ReadonlyMap<string, Member>): JsonText => {
  if (patch.size === 0) return base
  // Done to every row of a large update: no copy of the patch, and few objects.
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

/** The JSON texts of an array's items, in order. The array's text must be valid and compact. */
export const readItems = (array: string): ReadonlyArray<string> => {
  const items: Array<string> = []
  for (let from = 1; from < array.length - 1;) {
    const end = valueEnd(array, from)
    items.push(array.slice(from, end))
    from = end + 1
  }
  return items
}

/** Compact JSON whose strings, names included, are spelled in another way. */
export const respelled = (compact: string, spell: (rawString: string) => string): string => {
  let text = ""
  let from = 0
  for (let open = compact.indexOf('"'); open !== -1; open = compact.indexOf('"', from)) {
    text += compact.slice(from, open)
    from = stringClose(compact, open) + 1
    text += spell(compact.slice(open, from))
  }
  return text + compact.slice(from)
}

/** Formats compact JSON over several lines, without changing the spelling of names and values. */
export const indented = (compact: string): string => {
  let pretty = ""
  let depth = 0
  let from = 0
  const line = () => "\n" + "  ".repeat(depth)
  const cut = (at: number) => {
    pretty += compact.slice(from, at)
    from = at + 1
  }
  for (let i = 0; i < compact.length; i++) {
    const unit = compact.charAt(i)
    if (unit === '"') {
      i = stringClose(compact, i)
    } else if (unit === "{" || unit === "[") {
      const close = compact.charAt(i + 1)
      if (close === "}" || close === "]") {
        i++
        continue
      }
      cut(i)
      depth++
      pretty += unit + line()
    } else if (unit === "}" || unit === "]") {
      cut(i)
      depth--
      pretty += line() + unit
    } else if (unit === ",") {
      cut(i)
      pretty += "," + line()
    } else if (unit === ":") {
      cut(i)
      pretty += ": "
    }
  }
  return pretty + compact.slice(from)
}
