import { Context } from "effect"

/**
 * The minimum rate of a large body or response, because slower ones hold room that others wait for: 100,000 bytes per second,
 * after 5 seconds. A response can pause longer, because the system's buffers hide its progress. `grace` and `most` are in
 * milliseconds.
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

/**
 * The time that is left until a transfer is too slow. Starts with `grace`. Each byte adds the time that it may take, up to
 * `most` in advance.
 */
export const startPace = (
  bytesPerSecond: number,
  { grace, most }: { readonly grace: number; readonly most: number }
) => {
  let end = performance.now() + grace
  let pausedAt: number | undefined
  const now = () => pausedAt ?? performance.now()
  return {
    /** Counts transferred bytes. */
    moved: (bytes: number): void => {
      end = Math.max(end, Math.min(end + (bytes / bytesPerSecond) * 1000, now() + most))
    },
    /** Stops the clock until `resume`, while the transfer waits for the service. */
    pause: (): void => {
      pausedAt ??= performance.now()
    },
    resume: (): void => {
      if (pausedAt !== undefined) end += performance.now() - pausedAt
      pausedAt = undefined
    },
    /** In milliseconds: until the transfer is too slow, if no more bytes are transferred. */
    left: (): number => end - now()
  }
}
