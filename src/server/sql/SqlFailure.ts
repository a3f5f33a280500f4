import { Cause, Context, Effect, Schedule, Schema, Stream } from "effect"
import { SqlError, type SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { outageOf, unavailable } from "./Outage.ts"

/** A statement's failures after {@link refine}: an outage is told, everything else is a defect. */
export type Refined<E> = Exclude<E, SqlError.SqlError | Schema.SchemaError | Cause.NoSuchElementError> | Unavailable

// A statement of an aborted transaction can't be repeated alone; the whole transaction is.
const InTransaction = Context.Reference<boolean>("agent-memory/server/sql/SqlFailure/InTransaction", {
  defaultValue: () => false
})

const isContention = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "DeadlockError" || reason._tag === "SerializationError"

const contention = Schedule.exponential("5 millis").pipe(Schedule.jittered, Schedule.upTo({ times: 5 }))

const settle = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
  Effect.catch(effect, (error): Effect.Effect<never, Refined<E>> => {
    if (SqlError.isSqlError(error)) {
      const outage = outageOf(error)
      const answer =
        outage === undefined
          ? Effect.die(error)
          : Effect.andThen(
              Effect.logWarning(outage.message, { reason: error.reason._tag, cause: outage.cause }),
              Effect.fail(unavailable(outage))
            )
      return Effect.andThen(Metrics.databaseFailed(error.reason._tag), answer)
    }
    if (Schema.isSchemaError(error) || Cause.isNoSuchElementError(error)) return Effect.die(error)
    return Effect.fail(error as Refined<E>)
  })

/**
 * What leaves a Repo: a deadlock or serialisation failure is retried a few times, an outage is {@link Unavailable}, and
 * every other SQL or decoding failure is a defect, and so is a row that is missing where there must be one.
 */
export const refine = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
  Effect.flatMap(InTransaction, (inside) =>
    inside
      ? settle(effect)
      : settle(
          Metrics.databaseOperation(
            Effect.catchCause(effect, (cause) =>
              isContendedCause(cause) ? retried(effect, cause) : Effect.failCause(withoutLostRollback(cause))
            )
          )
        )
  )

/** Repeats what has failed once. A schedule costs more than the rest of this file, and few statements need one. */
const retried = <A, E, R>(effect: Effect.Effect<A, E, R>, failure: Cause.Cause<E>) => {
  let isFirst = true
  const attempt = Effect.suspend(() => {
    if (!isFirst) return effect
    isFirst = false
    return Effect.failCause(failure)
  })
  return Effect.sandbox(attempt).pipe(
    Effect.retry({ schedule: contention, while: isContendedCause }),
    Effect.catch((cause) => Effect.failCause(withoutLostRollback(cause)))
  )
}

/** A broken connection fails its ROLLBACK too, as a defect that hides the outage; PostgreSQL rolls back by itself. */
const withoutLostRollback = <E>(cause: Cause.Cause<E>): Cause.Cause<E | SqlError.SqlError> => {
  const lost = cause.reasons.flatMap((reason) =>
    Cause.isDieReason(reason) && SqlError.isSqlError(reason.defect) && outageOf(reason.defect) !== undefined
      ? [reason.defect]
      : []
  )
  if (lost.length === 0) return cause
  const failures = cause.reasons.filter(Cause.isFailReason)
  return failures.length > 0 ? Cause.fromReasons(failures) : Cause.fail(lost[0]!)
}

const isContended = (reason: Cause.Reason<unknown>): boolean => {
  const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
  return SqlError.isSqlError(error) && isContention(error)
}

const isContendedCause = (cause: Cause.Cause<unknown>): boolean => cause.reasons.some(isContended)

/** One transaction, repeated as a whole when it lost a deadlock or a serialisation conflict. */
export const transact =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
    refine(sql.withTransaction(Effect.provideService(effect, InTransaction, true)))

/** {@link refine} for a stream of rows; nothing is retried, since its reader has seen a part already. */
export const refineStream = <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, Refined<E>, R> =>
  Stream.catch(stream, (error) => Stream.fromEffect(settle(Effect.fail(error))))
