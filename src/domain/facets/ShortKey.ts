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
