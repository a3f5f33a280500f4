import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"

/** Holds the account's record meanwhile, so that writes queue up behind the first, which waits for it. */
export const whileHeld = Effect.fnUntraced(function* <A, E, R>(accountId: string, effect: Effect.Effect<A, E, R>) {
  const sql = yield* SqlClient.SqlClient
  const isHeld = yield* Deferred.make<void>()
  const isOver = yield* Deferred.make<void>()
  const holder = yield* sql
    .withTransaction(
      Effect.gen(function* () {
        yield* sql`SELECT FROM accounts WHERE account_id = ${accountId} FOR UPDATE`
        yield* Deferred.succeed(isHeld, undefined)
        yield* Deferred.await(isOver)
      })
    )
    .pipe(Effect.forkScoped)
  yield* Effect.raceFirst(Deferred.await(isHeld), Fiber.join(holder))
  const letGo = Effect.andThen(Deferred.succeed(isOver, undefined), Fiber.await(holder))
  return yield* Effect.ensuring(effect, letGo)
})

/** Some statement waits for a lock. */
export const untilWaiting = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const waiting = sql`SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  yield* Effect.repeat(waiting, { until: (rows) => rows.length > 0 })
})
