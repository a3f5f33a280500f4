/** Steps over validated, compact text. Offsets never pass the text's end, so that no text can make a loop endless. */

const NEAR = 32

/** The offset of the closing quote of the string that opens at an offset. */
export const stringClose = (text: string, open: number): number => {
  const length = text.length
  const near = Math.min(open + NEAR, length)
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

const scalarEnd = (text: string, from: number): number => {
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
