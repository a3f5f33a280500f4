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
  let encoded = text.slice(0, at)
  while (at < text.length) {
    const point = text.codePointAt(at)!
    encoded += encodePoint(point)
    at += point > 0xffff ? 2 : 1
  }
  return encoded
}

const encodePoint = (point: number): string => {
  if (point > 0xe000) return String.fromCodePoint(point)
  if (point === 0xe000) return "\uE000\u2000"
  if (point >= 0xd800) return "\uE000" + String.fromCharCode(0x100 + point - 0xd800)
  if (point > 1) return String.fromCharCode(point)
  return point === 0 ? "\u0001\u0001" : "\u0001\u0002"
}
