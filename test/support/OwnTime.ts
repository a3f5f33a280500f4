import { Effect } from "effect"

const step = 10

/**
 * How long an effect takes, and what it gives. The milliseconds are counted in steps of this process's own, each of which
 * counts the same however late it comes: a busy machine, which keeps the process waiting, makes none of them longer. What
 * blocks this process's own thread isn't counted, so that is measured by other means.
 */
export const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    let took = 0
    const timer = setInterval(() => (took += step), step)
    return Effect.map(effect, (value) => ({ value, took })).pipe(
      Effect.ensuring(Effect.sync(() => clearInterval(timer)))
    )
  })

/**
 * The most milliseconds, as {@link timed} counts them, that an answer may take while the database is away or holds a lock.
 * Three seconds are promised; the rest is for the processes behind it, which a busy machine keeps waiting. It is less than
 * the five seconds that a statement may wait for a lock, so a request that waits that long is noticed.
 */
export const mostWhileAway = 4500

/** Fails an effect that takes more of the time that {@link timed} counts. */
export const within =
  (milliseconds: number) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.raceFirst(
      effect,
      Effect.callback<never>((resume) => {
        let left = milliseconds / step
        const timer = setInterval(() => {
          if (--left <= 0) resume(Effect.die(new Error(`It took longer than ${milliseconds} ms.`)))
        }, step)
        return Effect.sync(() => clearInterval(timer))
      })
    )
