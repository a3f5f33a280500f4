import { decodeString } from "./Lexemes.ts"

/** Why a text is not acceptable JSON, and where. */
export interface JsonIssue {
  readonly code: "invalid_json" | "duplicate_field" | "too_deep" | "too_many" | "invalid_request"
  /** RFC 6901 JSON Pointer, cut off (with an ellipsis) after 200 characters. */
  readonly pointer: string
  /** A sentence for people, with line and column of a syntax error. For `too_many`, words that follow the array's or object's name. */
  readonly message: string
  readonly exceeded?: { readonly name: string; readonly limit: number }
}

/** The value of a text, or why the text is not acceptable. */
export type Parsed<A> =
  | { readonly value: A; readonly issue?: undefined }
  | { readonly value?: undefined; readonly issue: JsonIssue }

/** The limit of an array's items, or of an object's `rest`: a number, or the name of a limit. */
export interface Most {
  readonly parts: number | string
  readonly message: (limit: number) => string
}

const POINTER_LIMIT = 200

/** Writes a JSON Pointer, capped because it echoes the sender's text. */
export const pointerTo = (path: Iterable<string | number>): string => {
  let pointer = ""
  for (const token of path) {
    // Cut first: one name may be megabytes long.
    const name = typeof token === "number" ? String(token) : token.slice(0, POINTER_LIMIT + 1)
    pointer += "/" + name.replaceAll("~", "~0").replaceAll("/", "~1")
    if (pointer.length > POINTER_LIMIT) return shorten(pointer, POINTER_LIMIT)
  }
  return pointer
}

/** Cuts a text to a number of UTF-16 units plus an ellipsis, never through a surrogate pair. */
export const shorten = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit) + "…"
}

const placeOf = (text: string, offset: number): string => {
  let line = 1
  let start = 0
  for (let i = 0; i < offset; i++) {
    if (text.charCodeAt(i) === 10) {
      line++
      start = i + 1
    }
  }
  return `line ${line}, column ${offset - start + 1}`
}

const EXPECTATIONS = {
  value: "a value",
  number: "a digit",
  string: "the rest of a string",
  "first name": "a field name in quotes, or }",
  name: "a field name in quotes (no comma before })",
  colon: "a colon after the field name",
  "member end": "a comma or }",
  "item end": "a comma or ]",
  end: "nothing after the JSON value"
} as const

/** What the grammar expects at the offset of an error. */
export type Expected = keyof typeof EXPECTATIONS

/** The issue of text that breaks the grammar at an offset. */
export const syntaxFault = (text: string, at: number, expected: Expected, pointer: string): JsonIssue => ({
  code: "invalid_json",
  pointer,
  message: `Invalid JSON at ${placeOf(text, at)}: ${explain(text, at, expected)}.`
})

const explain = (text: string, at: number, expected: Expected): string => {
  const wanted = `expected ${EXPECTATIONS[expected]}`
  if (at >= text.length) return `${wanted}, but the text ends`
  const unit = text.charCodeAt(at)
  const hex = unit.toString(16).toUpperCase().padStart(4, "0")
  if (isLone(text, at)) return `the surrogate U+${hex} has no partner; write it as an escape (\\u${hex})`
  if (expected === "string") {
    if (unit === 92) return "unknown escape; write a backslash as \\\\"
    return `write the control character U+${hex} as an escape (\\u${hex})`
  }
  if (unit === 0xfeff) return "a byte order mark is not JSON; send the text without it"
  if (unit === 39) return `${wanted}. JSON strings use double quotes`
  if (unit <= 32 || unit === 127) return `${wanted}. Found the character U+${hex}`
  return `${wanted}. Found '${String.fromCodePoint(text.codePointAt(at) ?? unit)}'`
}

const isLone = (text: string, at: number): boolean => {
  const point = text.codePointAt(at) ?? 0
  return point >= 0xd800 && point <= 0xdfff
}

/** The issue of an array or object that is nested too deep. */
export const tooDeep = (pointer: string): JsonIssue => ({
  code: "too_deep",
  pointer,
  message: "The value is nested more than 100 levels deep. Store it flatter, or as a string."
})

/** The issue of a duplicate name. `at` and `end` enclose the name with its quotes. */
export const duplicateName = (text: string, at: number, end: number, pointer: string): JsonIssue => ({
  code: "duplicate_field",
  pointer,
  message:
    `The name ${JSON.stringify(shorten(decodeString(text.slice(at, end)), 60))} occurs twice in one object ` +
    `(again at ${placeOf(text, at)}). Give each field its own name.`
})

/** The issue of an array or object with too many parts. */
export const tooMany = (pointer: string, { message, parts }: Most, limit: number): JsonIssue => ({
  code: "too_many",
  pointer,
  message: message(limit),
  ...(typeof parts === "string" && { exceeded: { name: parts, limit } })
})
