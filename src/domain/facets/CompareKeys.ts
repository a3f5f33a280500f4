import { NULL_KEY } from "./FacetKey.ts"

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
const comparePoints = (a: string, b: string): number => {
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
