import { decodeString } from "../json/Lexemes.ts"
import { numberKey } from "./NumberKey.ts"

/** The key of null: in every sort it comes behind the values, in both directions. */
const NULL_KEY = "0"

/**
 * A typed key of a JSON value (given as validated, compact text). Keys are equal exactly when type and value are,
 * except that all arrays and objects are one; their order under COLLATE "C" is number, string, false, true,
 * array or object. Keys hold neither NUL nor lone surrogates.
 */
export const sortKey = (rawValue: string): string => {
  switch (rawValue.charCodeAt(0)) {
    case 34:
      return stringKey(decodeString(rawValue))
    case 123:
    case 91:
      return "5"
    case 102:
      return "3"
    case 116:
      return "4"
    case 110:
      return NULL_KEY
    default:
      return "1" + numberKey(rawValue)
  }
}

/** The key of a string, given as its characters. */
export const stringKey = (text: string): string => "2" + encodeText(text)

/** Characters that encoded text spells in two: what PostgreSQL cannot hold, and what begins such a spelling. */
// oxlint-disable-next-line no-control-regex
const SPECIAL = /[\u0000\u0001\uD800-\uDFFF\uE000]/

/**
 * Spells text so that PostgreSQL can hold it, injectively and in the order of code points under COLLATE "C".
 *
 * NUL is U+0001 U+0001, U+0001 is U+0001 U+0002; a lone surrogate is U+E000 and a character from U+0100 to U+08FF,
 * U+E000 is U+E000 U+2000. All other text spells itself, and no spelling holds NUL or a lone surrogate.
 */
export const encodeText = (text: string): string => {
  let at = text.search(SPECIAL)
  if (at === -1) return text
  // Appended one by one, they would be a chain of pieces that takes many times its length.
  const encoded = [text.slice(0, at)]
  while (at < text.length) {
    const point = text.codePointAt(at)!
    encoded.push(encodePoint(point))
    at += point > 0xffff ? 2 : 1
  }
  return encoded.join("")
}

const encodePoint = (point: number): string => {
  if (point > 0xe000) return String.fromCodePoint(point)
  if (point === 0xe000) return "\uE000\u2000"
  if (point >= 0xd800) return "\uE000" + String.fromCharCode(0x100 + point - 0xd800)
  if (point > 1) return String.fromCharCode(point)
  return point === 0 ? "\u0001\u0001" : "\u0001\u0002"
}

/** How many UTF-16 units of a key the short form keeps: this many, or one more so that no pair is cut. */
const KEPT = 199

/** Marks a cut key. No key holds these two where a new character or spelling begins. */
const MARKER = "\u0001\u0003"

/**
 * The short form of a key: a key of up to about 200 UTF-16 units is its own, a longer one is its beginning and a marker.
 *
 * Sorting by (short form, full key) is sorting by the full key: all cut beginnings are minimal beginnings of at least
 * 199 units, so none continues another, nor does a whole key continue one.
 */
export const shortKey = (key: string): string => {
  if (key.length <= KEPT) return key
  const end = cutEnd(key)
  return key.length <= end ? key : key.slice(0, end) + MARKER
}

/** Whether a key has a longer full form than its short one. */
export const isLong = (key: string): boolean => key.length > KEPT && key.length > cutEnd(key)

/** Whether a short form is not the whole key. */
export const isCut = (short: string): boolean => short.length > KEPT + 1

/** The first end of a whole character, spelling or surrogate pair at or behind the limit. */
const cutEnd = (key: string): number => (opensPair(key, KEPT - 1) ? KEPT + 1 : KEPT)

const opensPair = (key: string, at: number): boolean => {
  const unit = key.charCodeAt(at)
  if (unit >= 0xd800 && unit <= 0xdbff) return true
  // What follows U+E000 in a spelling is never U+E000 itself, and what follows U+0001 may be U+0001 once.
  if (unit === 0xe000) return true
  if (unit !== 1) return false
  let run = 1
  while (key.charCodeAt(at - run) === 1) run++
  return run % 2 === 1
}

/**
 * Compares two rows' full keys of one field in the written sort order: by value (descending on request), and in both
 * directions null and then missing fields at the end. Answers 0 for keys that the sort leaves in insertion order.
 */
export const compareKeys = (a: string | undefined, b: string | undefined, descending: boolean): number => {
  const rank = rankOf(a) - rankOf(b)
  if (rank !== 0) return rank
  if (a === undefined || b === undefined || a === b) return 0
  return descending ? comparePoints(b, a) : comparePoints(a, b)
}

const rankOf = (key: string | undefined): number => (key === undefined ? 2 : key === NULL_KEY ? 1 : 0)

/** The order of code points, which is that of UTF-8 bytes; JavaScript's own puts astral characters before U+E000. */
export const comparePoints = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rise(left) - rise(right)
  }
  return a.length - b.length
}

/** Moves surrogates behind U+FFFF. */
const rise = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)
