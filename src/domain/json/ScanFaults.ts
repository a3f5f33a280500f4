import { decodeString } from "./Strings.ts"
import { placeOf, shorten, type JsonIssue } from "./JsonIssue.ts"
import type { Most } from "./ParseEnvelope.ts"

const EXPECTATIONS = {
  value: "a value is expected",
  number: "a digit is expected",
  string: "a string has to go on",
  "first name": "a member name in double quotes or } is expected",
  name: "a member name in double quotes is expected (no comma goes before })",
  colon: "a colon is expected after the member name",
  "member end": "a comma or } is expected",
  "item end": "a comma or ] is expected",
  end: "the JSON value is complete, so nothing more may follow"
} as const

/** What the grammar allows at the place of a fault. */
export type Expected = keyof typeof EXPECTATIONS

/** The issue of text that breaks the grammar at an offset. */
export const syntaxFault = (text: string, at: number, expected: Expected, pointer: string): JsonIssue => ({
  code: "invalid_json",
  pointer,
  message: `Invalid JSON at ${placeOf(text, at)}: ${explain(text, at, expected)}.`
})

const explain = (text: string, at: number, expected: Expected): string => {
  if (at >= text.length) return `the text ends, but ${EXPECTATIONS[expected]}`
  const unit = text.charCodeAt(at)
  const hex = unit.toString(16).toUpperCase().padStart(4, "0")
  if (isLone(text, at)) return `the surrogate U+${hex} has no partner; write it as an escape (\\u${hex})`
  if (expected === "string") {
    if (unit === 92) return "this is no escape that JSON knows; a backslash itself is written \\\\"
    return `the control character U+${hex} has to be written as an escape (\\u${hex})`
  }
  if (unit === 0xfeff) return "a byte order mark is not JSON; send the text without it"
  if (unit === 39) return `${EXPECTATIONS[expected]}; JSON strings take double quotes`
  if (unit <= 32 || unit === 127) return `the character U+${hex} stands here, but ${EXPECTATIONS[expected]}`
  return `${String.fromCodePoint(text.codePointAt(at) ?? unit)} stands here, but ${EXPECTATIONS[expected]}`
}

const isLone = (text: string, at: number): boolean => {
  const point = text.codePointAt(at) ?? 0
  return point >= 0xd800 && point <= 0xdfff
}

/** The issue of a container inside of too many others. */
export const tooDeep = (pointer: string): JsonIssue => ({
  code: "too_deep",
  pointer,
  message: "The value is nested more than 100 levels deep. Store it flatter, or as a string."
})

/** The issue of a name that its object holds already; the name is given by its place, quotes included. */
export const duplicateName = (text: string, at: number, end: number, pointer: string): JsonIssue => ({
  code: "duplicate_field",
  pointer,
  message:
    `The name ${JSON.stringify(shorten(decodeString(text.slice(at, end)), 60))} occurs twice in one object ` +
    `(again at ${placeOf(text, at)}). Give each member a name of its own.`
})

/** The issue of an array or object with more parts than it may have. */
export const tooMany = (pointer: string, { message, parts }: Most, limit: number): JsonIssue => ({
  code: "too_many",
  pointer,
  message: message(limit),
  ...(typeof parts === "string" && { exceeded: { name: parts, limit } })
})
