/** Where the lexemes of RFC 8259 end. A fault at offset `n` is answered as `~n`, which is negative. */

const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57

const isHex = (unit: number): boolean => isDigit(unit) || (unit >= 65 && unit <= 70) || (unit >= 97 && unit <= 102)

const escapeEnd = (text: string, at: number): number => {
  if (at + 1 >= text.length) return ~text.length
  switch (text.charCodeAt(at + 1)) {
    case 34:
    case 47:
    case 92:
    case 98:
    case 102:
    case 110:
    case 114:
    case 116:
      return at + 2
    case 117:
      for (let i = at + 2; i < at + 6; i++) {
        if (i >= text.length) return ~text.length
        if (!isHex(text.charCodeAt(i))) return ~at
      }
      return at + 6
    default:
      return ~at
  }
}

const NEAR = 48
// oxlint-disable-next-line no-control-regex
const NOT_PLAIN = /[\\\u0000-\u001f]/

/** The offset behind the closing quote, given the offset of any character of the string that starts no later. */
export const stringEnd = (text: string, from: number): number => {
  const near = Math.min(from + NEAR, text.length)
  for (let i = from; i < near; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 34) return i + 1
    if (unit === 92 || unit < 32) return oddStringEnd(text, i)
  }
  const quote = text.indexOf('"', near)
  if (quote === -1 || NOT_PLAIN.test(text.slice(near, quote))) return oddStringEnd(text, near)
  return quote + 1
}

const oddStringEnd = (text: string, from: number): number => {
  const length = text.length
  let i = from
  while (i < length) {
    const unit = text.charCodeAt(i)
    if (unit === 34) return i + 1
    if (unit === 92) {
      i = escapeEnd(text, i)
      if (i < 0) return i
    } else if (unit < 32) {
      return ~i
    } else {
      i++
    }
  }
  return ~length
}

const digitsEnd = (text: string, from: number): number => {
  let i = from
  while (i < text.length && isDigit(text.charCodeAt(i))) i++
  return i
}

/** The offset behind a number, given the offset of its minus or first digit. */
export const numberEnd = (text: string, from: number): number => {
  const length = text.length
  let i = from
  if (text.charCodeAt(i) === 45) i++
  if (i < length && text.charCodeAt(i) === 48) {
    i++
  } else {
    const start = i
    i = digitsEnd(text, i)
    if (i === start) return ~i
  }
  if (i >= length) return i
  let unit = text.charCodeAt(i)
  if (unit === 46) {
    const start = i + 1
    i = digitsEnd(text, start)
    if (i === start) return ~i
    if (i >= length) return i
    unit = text.charCodeAt(i)
  }
  if (unit === 101 || unit === 69) {
    i++
    if (i < length && (text.charCodeAt(i) === 43 || text.charCodeAt(i) === 45)) i++
    const start = i
    i = digitsEnd(text, start)
    if (i === start) return ~i
  }
  return i
}

/** The offset behind `true`, `false` or `null`. */
export const literalEnd = (text: string, from: number): number => {
  const first = text.charCodeAt(from)
  const word = first === 116 ? "true" : first === 102 ? "false" : "null"
  return text.startsWith(word, from) ? from + word.length : ~from
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

/** Steps over validated, compact text. Offsets never pass the text's end, so that no text can make a loop endless. */

/** The offset of the closing quote of the string that opens at an offset. */
export const stringClose = (text: string, open: number): number => {
  const length = text.length
  const near = Math.min(open + 32, length)
  let i = open + 1
  while (i < near) {
    const unit = text.charCodeAt(i)
    if (unit === 34) return i
    i += unit === 92 ? 2 : 1
  }
  // Searching is faster than walking once a string is long.
  for (;;) {
    const quote = text.indexOf('"', i)
    if (quote === -1) return length
    let slashes = quote
    while (text.charCodeAt(slashes - 1) === 92) slashes--
    if ((quote - slashes) % 2 === 0) return quote
    i = quote + 1
  }
}

/** The offset behind the value at an offset. */
export const valueEnd = (text: string, from: number): number => {
  const first = text.charCodeAt(from)
  if (first === 34) return stringClose(text, from) + 1
  return first === 123 || first === 91 ? containerEnd(text, from) : scalarEnd(text, from)
}

/** The offset behind the number or literal at an offset. */
export const scalarEnd = (text: string, from: number): number => {
  let i = from
  for (; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 44 || unit === 125 || unit === 93) break
  }
  return i
}

const containerEnd = (text: string, from: number): number => {
  let depth = 0
  for (let i = from; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit === 34) {
      i = stringClose(text, i)
    } else if (unit === 123 || unit === 91) {
      depth++
    } else if (unit === 125 || unit === 93) {
      depth--
      if (depth === 0) return i + 1
    }
  }
  return text.length
}

const SIMPLE: ReadonlyMap<number, number> = new Map([
  [98, 8],
  [102, 12],
  [110, 10],
  [114, 13],
  [116, 9]
])

// As many arguments as every engine lets one call have.
const BLOCK = 4096

/**
 * The characters of a valid JSON string, given with its quotes.
 *
 * Written out because one JavaScript engine's `JSON.parse` confuses escaped member names (nodejs/node#63785), and in blocks
 * because a text that is put together escape by escape takes ten times its length in memory.
 */
export const decodeString = (rawWithQuotes: string): string => {
  if (!rawWithQuotes.includes("\\")) return rawWithQuotes.slice(1, -1)
  const end = rawWithQuotes.length - 1
  let decoded = ""
  let units: Array<number> = []
  for (let i = 1; i < end; i++) {
    let unit = rawWithQuotes.charCodeAt(i)
    if (unit === 92) {
      unit = escapedUnit(rawWithQuotes, i)
      i += escapeLength(rawWithQuotes, i) - 1
    }
    units.push(unit)
    if (units.length === BLOCK) {
      decoded += String.fromCharCode(...units)
      units = []
    }
  }
  return decoded + String.fromCharCode(...units)
}

/** The code unit that the escape at an offset stands for. */
export const escapedUnit = (text: string, at: number): number => {
  const letter = text.charCodeAt(at + 1)
  return letter === 117 ? hexAt(text, at + 2) : (SIMPLE.get(letter) ?? letter)
}

/** How many characters the escape at an offset has. */
export const escapeLength = (text: string, at: number): number => (text.charCodeAt(at + 1) === 117 ? 6 : 2)

const hexAt = (text: string, at: number): number =>
  (hexDigit(text.charCodeAt(at)) << 12) |
  (hexDigit(text.charCodeAt(at + 1)) << 8) |
  (hexDigit(text.charCodeAt(at + 2)) << 4) |
  hexDigit(text.charCodeAt(at + 3))

/** Digits are below the letters, whose case is one bit. */
const hexDigit = (unit: number): number => (unit < 58 ? unit - 48 : (unit & 0xdf) - 55)
