import { JsonText } from "./JsonText.ts"
import { members, readItems } from "./Members.ts"

/** A JSON value as it is spelled: names and scalars keep their text, so that editing one leaves all others alone. */
export type JsonNode = Scalar | Container

interface Scalar {
  text: string
}

export interface Container {
  readonly kind: "object" | "array"
  readonly entries: Array<Entry>
  isOpen: boolean
}

export interface Entry {
  /** With its quotes, as it is spelled; undefined in arrays. */
  rawName: string | undefined
  node: JsonNode
}

/** Reads a validated, compact text. */
export const readNode = (text: string, depth = 0): JsonNode => {
  const isOpen = depth < 2
  if (text.startsWith("{")) {
    const fields = members(JsonText.trusted(text))
    const entries = fields.map(({ rawName, value }) => ({ rawName, node: readNode(value, depth + 1) }))
    return { kind: "object", entries, isOpen }
  }
  if (!text.startsWith("[")) return { text }
  const entries = readItems(text).map((item) => ({ rawName: undefined, node: readNode(item, depth + 1) }))
  return { kind: "array", entries, isOpen }
}

/** Writes a value as compact JSON; `spell` may spell the strings in it, names included, in another way. */
export const writeNode = (node: JsonNode, spell = (rawString: string) => rawString): string => {
  if (!("kind" in node)) return node.text.startsWith('"') ? spell(node.text) : node.text
  const parts = node.entries.map(
    ({ node, rawName }) => (rawName === undefined ? "" : spell(rawName) + ":") + writeNode(node, spell)
  )
  return node.kind === "object" ? `{${parts.join(",")}}` : `[${parts.join(",")}]`
}
