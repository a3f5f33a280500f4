import { numberKey } from "../../domain/keys/NumberKey.ts"
import { stringOf } from "../../domain/TypedRow.ts"

/** A value in a table; `text` is its JSON, undefined where the row has no such field. */
export interface Cell {
  readonly text: string | undefined
  readonly kind: "missing" | "null" | "boolean" | "number" | "string" | "nested"
  /** What search looks through, in lower case. */
  readonly searched: string
}

const kindOf = (text: string | undefined): Cell["kind"] => {
  switch (text?.charAt(0)) {
    case undefined:
      return "missing"
    case "n":
      return "null"
    case "t":
    case "f":
      return "boolean"
    case '"':
      return "string"
    case "{":
    case "[":
      return "nested"
    default:
      return "number"
  }
}

export const cellOf = (text: string | undefined): Cell => ({
  text,
  kind: kindOf(text),
  searched: (stringOf(text) ?? text ?? "").toLowerCase()
})

const ranks = ["number", "string", "boolean", "null", "nested", "missing"] as const

const collator = new Intl.Collator("en", { numeric: true })

/** Orders cells of one column: numbers by their exact value, texts as people do; missing values come last. */
export const compareCells = (a: Cell, b: Cell): number => {
  if (a.kind !== b.kind) return ranks.indexOf(a.kind) - ranks.indexOf(b.kind)
  if (a.kind === "string") return collator.compare(a.searched, b.searched)
  if (a.kind !== "number") return a.searched < b.searched ? -1 : a.searched > b.searched ? 1 : 0
  const [left, right] = [numberKey(a.text ?? ""), numberKey(b.text ?? "")]
  return left < right ? -1 : left > right ? 1 : 0
}
