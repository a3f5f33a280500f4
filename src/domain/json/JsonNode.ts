import { JsonText } from "./JsonText.ts"
import { members, readItems } from "./Members.ts"

/** A JSON value as it is spelled: names and scalars keep their text. */
type JsonNode = Scalar | Container

interface Scalar {
  readonly text: string
}

interface Container {
  readonly kind: "object" | "array"
  readonly entries: ReadonlyArray<{
    /** With its quotes, as it is spelled; undefined in arrays. */
    readonly rawName: string | undefined
    readonly node: JsonNode
  }>
}

/** Reads a validated, compact text. */
export const readNode = (text: string): JsonNode => {
  if (text.startsWith("{")) {
    const fields = members(JsonText.trusted(text))
    return { kind: "object", entries: fields.map(({ rawName, value }) => ({ rawName, node: readNode(value) })) }
  }
  if (!text.startsWith("[")) return { text }
  return { kind: "array", entries: readItems(text).map((item) => ({ rawName: undefined, node: readNode(item) })) }
}

/** Writes a value as compact JSON; `spell` may spell the strings in it, names included, in another way. */
export const writeNode = (node: JsonNode, spell = (rawString: string) => rawString): string => {
  if (!("kind" in node)) return node.text.startsWith('"') ? spell(node.text) : node.text
  const parts = node.entries.map(
    ({ node, rawName }) => (rawName === undefined ? "" : spell(rawName) + ":") + writeNode(node, spell)
  )
  return node.kind === "object" ? `{${parts.join(",")}}` : `[${parts.join(",")}]`
}
