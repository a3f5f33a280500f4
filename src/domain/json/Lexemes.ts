/** Where the lexemes of RFC 8259 end. A fault at offset `n` is answered as `~n`, which is negative. */

const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57

const isHex = (unit: number): boolean => isDigit(unit) || (unit >= 65 && unit <= 70) || (unit >= 97 && unit <= 102)

/** The offset behind the escape that starts at an offset. */
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

/** The offset of the first character that is no digit. */
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
  const second = text.charCodeAt(from + 1)
  switch (text.charCodeAt(from)) {
    case 116:
      return second === 114 && text.charCodeAt(from + 2) === 117 && text.charCodeAt(from + 3) === 101 ? from + 4 : ~from
    case 110:
      return second === 117 && text.charCodeAt(from + 2) === 108 && text.charCodeAt(from + 3) === 108 ? from + 4 : ~from
    case 102:
      return second === 97 &&
        text.charCodeAt(from + 2) === 108 &&
        text.charCodeAt(from + 3) === 115 &&
        text.charCodeAt(from + 4) === 101
        ? from + 5
        : ~from
    default:
      return ~from
  }
}
