import { Context } from "effect"

/**
 * What a large body or answer must move at least: 100,000 bytes a second, after 5 seconds. Whoever is slower holds what
 * others wait for. An answer's reader may be silent for longer, as what the system has buffered hides its progress.
 * `grace` and `most` are in milliseconds.
 */
export const LeastPace = Context.Reference<{
  readonly bytesPerSecond: number
  readonly body: { readonly grace: number; readonly most: number }
  readonly answer: { readonly grace: number; readonly most: number }
}>("agent-memory/server/capacity/Pace/LeastPace", {
  defaultValue: () => ({
    bytesPerSecond: 100_000,
    body: { grace: 5000, most: 5000 },
    answer: { grace: 5000, most: 15_000 }
  })
})

/** How long one transfer may still take before it is too slow. */
export interface Pace {
  /** So many bytes moved. */
  readonly moved: (bytes: number) => void
  /** The transfer waits for the service, which is not counted, until `resume`. */
  readonly pause: () => void
  readonly resume: () => void
  /** Milliseconds until it is too slow, if nothing moves until then. */
  readonly left: () => number
}

/** Begins with `grace`; each byte gives the time that it may take, up to `most` in advance. */
export const startPace = (
  bytesPerSecond: number,
  { grace, most }: { readonly grace: number; readonly most: number }
): Pace => {
  let end = performance.now() + grace
  let pausedAt: number | undefined
  const now = () => pausedAt ?? performance.now()
  return {
    moved: (bytes) => {
      end = Math.max(end, Math.min(end + (bytes / bytesPerSecond) * 1000, now() + most))
    },
    pause: () => {
      pausedAt ??= performance.now()
    },
    resume: () => {
      if (pausedAt !== undefined) end += performance.now() - pausedAt
      pausedAt = undefined
    },
    left: () => end - now()
  }
}
