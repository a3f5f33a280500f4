import { Config, Effect } from "effect"

/** Whether the seconds of `LONG_SECONDS`, counted from this call, are over; without them a sweep is never cut. */
export const longBudget = () => {
  const start = performance.now()
  return Effect.map(
    Effect.orDie(Config.withDefault(Config.Finite("LONG_SECONDS"), Infinity)),
    (seconds) => performance.now() - start > seconds * 1000
  )
}
