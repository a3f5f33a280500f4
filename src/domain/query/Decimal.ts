/** A number of JSON as it is: `digits` × 10^`exponent`. */
export interface Decimal {
  readonly digits: bigint
  readonly exponent: number
}

/** How many digits a sum or a summand may have in all, from the first to the last place. */
export const maxDigits = 2000

const spelling = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Reads a JSON number; undefined where it reaches further than {@link maxDigits} digits from the decimal point. */
export const decimalOf = (text: string): Decimal | undefined => {
  const [, sign = "", whole = "", fraction = "", power = "0"] = spelling.exec(text)!
  const exponent = Number(power) - fraction.length
  const digits = whole.length + fraction.length
  if (digits > maxDigits || exponent < -maxDigits || exponent + digits > maxDigits) {
    return /[1-9]/.test(whole + fraction) ? undefined : { digits: 0n, exponent: 0 }
  }
  return { digits: BigInt(sign + whole + fraction), exponent }
}

/** The sum, exact; it keeps the finer of the two scales, as 1.10 + 2.20 is 3.30. */
export const add = (a: Decimal, b: Decimal): Decimal => {
  if (a.exponent === b.exponent) return { digits: a.digits + b.digits, exponent: a.exponent }
  if (a.exponent < b.exponent) return add(b, a)
  return { digits: a.digits * 10n ** BigInt(a.exponent - b.exponent) + b.digits, exponent: b.exponent }
}

/** The most digits of an average. */
const averageDigits = 20

/** A decimal divided by a count above 0: exact where that has up to 20 digits, else rounded to so many, half away from 0. */
export const divide = ({ digits, exponent }: Decimal, count: number): Decimal => {
  const by = BigInt(count)
  const exact = digits % by === 0n ? digits / by : undefined
  if (exact !== undefined && String(exact).replace("-", "").length <= averageDigits) return { digits: exact, exponent }
  const sign = digits < 0n ? -1n : 1n
  const whole = digits * sign
  // One digit more than is kept decides the rounding; what the division leaves can only add to it.
  const shift = Math.max(0, averageDigits + String(count).length + 1 - String(whole).length)
  const quotient = (whole * 10n ** BigInt(shift)) / by
  const excess = String(quotient).length - averageDigits
  const unit = 10n ** BigInt(excess)
  const rounded = quotient / unit + ((quotient % unit) * 2n >= unit ? 1n : 0n)
  return trimmed({ digits: sign * rounded, exponent: exponent - shift + excess })
}

const trimmed = ({ digits, exponent }: Decimal): Decimal => {
  let [left, power] = [digits, exponent]
  while (power < 0 && left % 10n === 0n) [left, power] = [left / 10n, power + 1]
  return { digits: left, exponent: power }
}

/** The most characters of a number that is spelled without an exponent. */
const plainLength = 40

/** The number as JSON: spelled out, or with an exponent where that would be long. */
export const decimalText = ({ digits, exponent }: Decimal): string => {
  const sign = digits < 0n ? "-" : ""
  const text = String(digits < 0n ? -digits : digits)
  if (exponent === 0 || digits === 0n)
    return sign + (digits === 0n && exponent < 0 ? `0.${"0".repeat(-exponent)}` : text)
  if (exponent > 0) {
    if (text.length + exponent <= plainLength) return sign + text + "0".repeat(exponent)
    return sign + scientific(text, exponent)
  }
  const point = text.length + exponent
  if (point > 0) return `${sign}${text.slice(0, point)}.${text.slice(point)}`
  if (-exponent <= plainLength) return `${sign}0.${"0".repeat(-point)}${text}`
  return sign + scientific(text, exponent)
}

const scientific = (digits: string, exponent: number): string => {
  const power = exponent + digits.length - 1
  return `${digits[0]}${digits.length > 1 ? `.${digits.slice(1)}` : ""}e${power}`
}
