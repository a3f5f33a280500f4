import { detach } from "./Detach.ts"
import type { JsonIssue, Parsed } from "./JsonIssue.ts"
import { JsonText } from "./JsonText.ts"
import { MAX_DEPTH, Scanner } from "./Scanner.ts"
import { syntaxFault } from "./ScanFaults.ts"

/** Validates one JSON value by RFC 8259, without duplicate names and with at most 100 levels, and compacts it. */
export const scan = (text: string): Parsed<JsonText> => {
  const surrogate = loneSurrogate(text)
  if (surrogate !== -1) return { issue: surrogateIssue(text, surrogate) }
  const scanner = new Scanner(text)
  if (!scanner.scan(0, MAX_DEPTH, [])) return { issue: scanner.issue! }
  const rest = spaceEnd(text, scanner.end)
  if (rest < text.length) return { issue: syntaxFault(text, rest, "end", "") }
  return { value: JsonText.trusted(detach(scanner.compact, text.length)) }
}

/** Like `scan`, for texts that must hold an object. */
export const scanObject = (text: string): Parsed<JsonText> => {
  const scanned = scan(text)
  if (scanned.issue !== undefined || scanned.value.text.startsWith("{")) return scanned
  return { issue: { code: "invalid_request", pointer: "", message: "A JSON object is expected here: {…}." } }
}

/** The offset of the first character at or behind an offset that is no white space. */
export const spaceEnd = (text: string, from: number): number => {
  let i = from
  for (; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) break
  }
  return i
}

const LONE = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/

/** The offset of the first lone surrogate, or -1. */
export const loneSurrogate = (text: string): number => (text.isWellFormed() ? -1 : text.search(LONE))

/** The issue of a lone surrogate, or of the fault before it. */
export const surrogateIssue = (text: string, at: number): JsonIssue => {
  // A control character in its place stops the scanner there, which then knows the pointer.
  const scanner = new Scanner(text.slice(0, at) + "\u0001")
  if (scanner.scan(0, MAX_DEPTH, [])) return syntaxFault(text, at, "end", "")
  const issue = scanner.issue!
  return issue.code === "invalid_json" ? syntaxFault(text, at, "string", issue.pointer) : issue
}
