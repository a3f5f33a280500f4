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
