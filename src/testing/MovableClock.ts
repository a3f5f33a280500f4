import { Clock, Duration, Effect } from "effect"
import { SqlClient } from "effect/sql"

interface Sleeper {
  readonly due: number
  readonly wake: () => void
  timer: NodeJS.Timeout | undefined
}

const longestTimer = 2_147_483_647

/** Real time that can be moved forward, which wakes all sleepers whose time has passed then. */
export const makeMovableClock = () => {
  const real = Clock.Clock.defaultValue()
  let offset = 0
  const sleepers = new Set<Sleeper>()

  const now = () => real.currentTimeMillisUnsafe() + offset
  const offsetNanos = () => BigInt(Math.round(offset * 1_000_000))

  const look = (sleeper: Sleeper): void => {
    clearTimeout(sleeper.timer)
    const left = sleeper.due - now()
    if (left <= 0) sleeper.wake()
    else sleeper.timer = setTimeout(look, Math.min(left, longestTimer), sleeper)
  }

  const sleep = (duration: Duration.Duration) =>
    Effect.callback<void>((resume) => {
      const sleeper: Sleeper = {
        due: now() + Duration.toMillis(duration),
        wake: () => {
          sleepers.delete(sleeper)
          resume(Effect.void)
        },
        timer: undefined
      }
      sleepers.add(sleeper)
      look(sleeper)
      return Effect.sync(() => {
        clearTimeout(sleeper.timer)
        sleepers.delete(sleeper)
      })
    })

  const clock: Clock.Clock = {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: () => real.currentTimeNanosUnsafe() + offsetNanos(),
    currentTimeNanos: Effect.sync(() => clock.currentTimeNanosUnsafe()),
    monotonicTimeNanosUnsafe: () => real.monotonicTimeNanosUnsafe() + offsetNanos(),
    monotonicTimeNanos: Effect.sync(() => clock.monotonicTimeNanosUnsafe()),
    sleep
  }

  /** Sets how many milliseconds the clock is ahead of real time. */
  const setOffset = (milliseconds: number): void => {
    offset = milliseconds
    sleepers.forEach(look)
  }

  return { clock, setOffset, offset: () => offset }
}

/** Moves the database's clock against real time. `interval` is one of PostgreSQL, such as `31 days`. */
export const setClock = Effect.fnUntraced(function* (interval: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    CREATE OR REPLACE FUNCTION memory_now() RETURNS timestamptz LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN date_trunc('milliseconds', clock_timestamp()) + interval '${sql.literal(interval)}'
  `
})
