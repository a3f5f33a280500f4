/**
 * Copies a slice that would keep a much larger text in memory.
 *
 * Engines keep slices as a window on the whole; a concatenation that is sliced again becomes a flat text of its own.
 */
export const detach = (slice: string, wholeLength: number): string =>
  slice.length * 2 < wholeLength ? (" " + slice).slice(1) : slice
