import { indented } from "../../../../domain/json/Indent.ts"
import type { JsonText } from "../../../../domain/json/JsonText.ts"
import { print } from "../../../../domain/json/Print.ts"
import { isDouble, RawNumber } from "../../../../domain/json/RawNumber.ts"
import { readTree } from "../../../../domain/json/ReadTree.ts"
import { scan } from "../../../../domain/json/Scan.ts"
import { hasUnorderedNames } from "./JsonParts.ts"

/** What the JSON editor parses and prints with. */
export interface EditorJson {
  readonly parse: (text: string) => unknown
  readonly stringify: (value: unknown, replacer?: unknown, space?: string | number) => string
}

const scanned = (text: string): JsonText => {
  const result = scan(text)
  if (result.issue !== undefined) throw new SyntaxError(withPosition(result.issue.message, text))
  return result.value
}

/** Names a place as an offset, the one way in which the editor finds it on every line; it shows line and column. */
const withPosition = (message: string, text: string): string =>
  message.replace(/line (\d+), column (\d+)/, (_, line: string, column: string) => {
    let start = 0
    for (let i = 1; i < Number(line); i++) start = text.indexOf("\n", start) + 1
    return `position ${start + Number(column) - 1}`
  })

const readNumber = (text: string): number | RawNumber => (isDouble(text) ? Number(text) : new RawNumber(text))

/** A validated text's values, with every digit of its numbers. */
export const tree = (json: JsonText): unknown => readTree(json.text, readNumber)

const stringify = (value: unknown, _replacer?: unknown, space?: string | number): string => {
  const compact = print(value)
  return space === undefined || space === 0 || space === "" ? compact : indented(compact)
}

/** For editing values one by one. It refuses text that objects of JavaScript cannot hold as it is. */
export const treeJson: EditorJson = {
  parse: (text) => {
    const json = scanned(text)
    if (hasUnorderedNames(json.text))
      throw new SyntaxError("Names like 1 or __proto__ can only be edited in text mode.")
    return tree(json)
  },
  stringify
}

/** For editing text: a parsed value is its text, so that formatting keeps escapes, digits and the order of members. */
export const textJson: EditorJson = { parse: scanned, stringify }
