/** A text of its own with the same characters: no window on a larger one, and no chain of pieces. */
export const flat = (text: string): string => (" " + text).slice(1)

/**
 * Copies a slice that would keep a much larger text in memory.
 *
 * Engines keep slices as a window on the whole; a concatenation that is sliced again becomes a flat text of its own.
 */
export const detach = (slice: string, wholeLength: number): string =>
  slice.length * 2 < wholeLength ? flat(slice) : slice
