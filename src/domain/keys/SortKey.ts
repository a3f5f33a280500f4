import { decodeString } from "../json/Lexemes.ts"
import { flat, type JsonText } from "../json/JsonText.ts"
import { members, type Member } from "../json/Members.ts"

/**
 * Keys of JSON numbers whose order as ASCII text is the order of the numbers: exact, whatever the number's size.
 *
 * A number is sign, exponent E and digits, its value 0.digits × 10^E with no zero at either end of the digits. Zero is
 * `1`. A positive number is `2`, the exponent, the digits. A negative one is `0`, then the same with each digit d as
 * 9-d, and `~` so that more digits sort lower. The exponent is `1` or, below zero, `0`; then the length of its length,
 * its length, its own digits, each digit d of these three as 9-d below zero.
 */
export const numberKey = (text: string): string =>
  SMALL.test(text) ? `2111${text.length}${text.slice(0, zerosStart(text))}` : anyKey(text)

/** Positive integers of one to nine digits. */
const SMALL = /^[1-9][0-9]{0,8}$/

const anyKey = (text: string): string => {
  const isNegative = text.charCodeAt(0) === 45
  const marker = text.search(/[eE]/)
  const mantissa = text.slice(isNegative ? 1 : 0, marker === -1 ? text.length : marker)
  const point = mantissa.indexOf(".")
  const all = point === -1 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1)
  const first = zerosEnd(all)
  if (first === all.length) return "1"
  const wholeDigits = (point === -1 ? mantissa.length : point) - first
  const exponent = marker === -1 ? exponentKey(wholeDigits) : shiftedKey(text.slice(marker + 1), wholeDigits)
  const key = exponent + all.slice(first, zerosStart(all))
  return isNegative ? "0" + complement(key) + "~" : "2" + key
}

const zerosEnd = (digits: string): number => {
  let i = 0
  while (i < digits.length && digits.charCodeAt(i) === 48) i++
  return i
}

const zerosStart = (digits: string): number => {
  let i = digits.length
  while (i > 0 && digits.charCodeAt(i - 1) === 48) i--
  return i
}

// Appended one by one, they would be a chain of pieces that takes many times its length.
const complement = (digits: string): string => Array.from(digits, (digit) => NINES[Number(digit)]).join("")

const NINES = ["9", "8", "7", "6", "5", "4", "3", "2", "1", "0"]

const bigExponentKey = (isNegative: boolean, digits: string): string => {
  const length = String(digits.length)
  const key = String(length.length) + length + digits
  return isNegative ? "0" + complement(key) : "1" + key
}

const exponentKey = (exponent: number): string => bigExponentKey(exponent < 0, String(Math.abs(exponent)))

/** How many decimal digits a double represents exactly, with room for a sum. */
const SAFE = 15

/** The key of an exponent as written, moved by the number of digits before the decimal point. */
const shiftedKey = (written: string, shift: number): string => {
  const isNegative = written.charCodeAt(0) === 45
  const unsigned = isNegative || written.charCodeAt(0) === 43 ? written.slice(1) : written
  const digits = unsigned.slice(zerosEnd(unsigned))
  if (digits.length <= SAFE) return exponentKey((isNegative ? -1 : 1) * Number(digits) + shift)
  // So long an exponent keeps its sign: no text has 10^15 digits to shift it by.
  return bigExponentKey(isNegative, addSmall(digits, isNegative ? -shift : shift))
}

/** Adds a small integer to more than 15 decimal digits, by hand because BigInt is slow on very long ones. */
const addSmall = (digits: string, summand: number): string => {
  const head = digits.slice(0, -SAFE)
  const sum = Number(digits.slice(-SAFE)) + summand
  const limit = 10 ** SAFE
  const carry = sum >= limit ? 1 : sum < 0 ? -1 : 0
  return (carry === 0 ? head : step(head, carry)) + String(sum - carry * limit).padStart(SAFE, "0")
}

/** Adds 1 or -1 to decimal digits without a leading zero; nothing is left of `1` less 1. */
const step = (digits: string, by: 1 | -1): string => {
  const [turning, turned] = by === 1 ? [57, "0"] : [48, "9"]
  let i = digits.length - 1
  while (i >= 0 && digits.charCodeAt(i) === turning) i--
  const changed = i < 0 ? "1" : String(digits.charCodeAt(i) - 48 + by)
  const result = digits.slice(0, Math.max(i, 0)) + changed + turned.repeat(digits.length - 1 - i)
  return result.slice(zerosEnd(result))
}

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
export const shortKey = (key: string): string => (isLong(key) ? key.slice(0, cutEnd(key)) + MARKER : key)

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

/** Compares two rows' full keys of a field; null and then missing fields come last either way. 0 leaves insertion order. */
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

const rise = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit)

/**
 * What a row's top-level fields are found and sorted by: two flat JSON objects from encoded names to keys, for jsonb
 * columns. An encoded name (`encodeText`) is to be bound as a parameter wherever SQL names a field.
 *
 * Equality is exact as flat containment: `short @> filter.short AND (filter.long IS NULL OR long @> filter.long)`.
 */
export interface RowKeys {
  readonly short: string
  /** The full keys of those fields whose short key is cut; null when there are none. */
  readonly long: string | null
}

/** The sort keys of a row's fields. */
export const rowKeys = (row: JsonText): RowKeys => keysOfFields(members(row))

const keysOfFields = (fields: ReadonlyArray<Member>): RowKeys => {
  let short = ""
  let long = ""
  for (const field of fields) {
    const key = sortKey(field.value)
    const name = printedName(field)
    if (isLong(key)) long += `${long === "" ? "{" : ","}${name}:${JSON.stringify(key)}`
    short += `${short === "" ? "{" : ","}${name}:${JSON.stringify(shortKey(key))}`
  }
  // As chains of pieces, those of a thousand fields take many times their length.
  return { short: short === "" ? "{}" : flat(short + "}"), long: long === "" ? null : flat(long + "}") }
}

const printedName = (field: Member): string => {
  const encoded = encodeText(field.name)
  // A name that spells itself was sent as valid JSON already.
  return encoded === field.name && field.rawName.length === encoded.length + 2 ? field.rawName : JSON.stringify(encoded)
}

/** Full keys by encoded name of those fields of a row that are wanted, for use in memory. */
export const keysByField = (row: JsonText, wanted: ReadonlySet<string>): Map<string, string> => {
  const keys = new Map<string, string>()
  for (const { name, value } of members(row)) {
    const encoded = encodeText(name)
    if (wanted.has(encoded)) keys.set(encoded, sortKey(value))
  }
  return keys
}

/** Whether a row has every wanted field with an equal key. */
export const keysMatch = (row: ReadonlyMap<string, string>, wanted: ReadonlyMap<string, string>): boolean => {
  for (const [name, key] of wanted) if (row.get(name) !== key) return false
  return true
}

/** An equality filter over a row's own fields, as `RowKeys` for SQL and as keys for use in memory. */
export interface FieldFilter extends RowKeys {
  readonly wanted: ReadonlyMap<string, string>
}

/** The filter for fields with distinct names and scalar values (arrays and objects would all be equal). */
export const fieldFilter = (fields: ReadonlyArray<Member>): FieldFilter => ({
  ...keysOfFields(fields),
  wanted: new Map(fields.map(({ name, value }) => [encodeText(name), sortKey(value)]))
})

/** The issue of a delete whose filter is neither in its body nor in the query string, or in both. */
export const missingFilter = { path: "/filter", message: "must be given once" }
