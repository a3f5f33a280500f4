/**
 * Keys of JSON numbers whose order as ASCII text is the order of the numbers: exact, whatever the number's size.
 *
 * A number is sign, exponent E and digits, its value 0.digits × 10^E with no zero at either end of the digits. Zero is
 * `1`. A positive number is `2`, the exponent, the digits. A negative one is `0`, then the same with each digit d as
 * 9-d, and `~` so that more digits sort lower. The exponent is `1` or, below zero, `0`; then the length of its length,
 * its length, its own digits, each digit d of these three as 9-d below zero.
 */
export const numberKey = (text: string): string => (SMALL.test(text) ? smallKey(text) : anyKey(text))

const SMALL = /^[1-9][0-9]{0,8}$/

/** The key of a positive integer of one to nine digits. */
const smallKey = (text: string): string => `2111${text.length}${text.slice(0, zerosStart(text))}`

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
