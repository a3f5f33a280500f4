import { Config, Effect } from "effect"

/** Whether the seconds of `LONG_SECONDS`, counted from the file's start, are over; without them a sweep is never cut. */
export const isBudgetSpent = Effect.map(
  Effect.orDie(Config.withDefault(Config.Finite("LONG_SECONDS"), Infinity)),
  (seconds) => performance.now() > seconds * 1000
)
