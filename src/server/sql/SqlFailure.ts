import { Cause, Context, Effect, Predicate, Schedule, Schema, Stream } from "effect"
import { SqlError, type SqlClient } from "effect/sql"
import { Unavailable } from "../../domain/Problem.ts"
import * as Metrics from "../telemetry/Metrics.ts"

/** A statement's failures after {@link refine}: an outage is told, everything else is a defect. */
export type Refined<E> = Exclude<E, SqlError.SqlError | Schema.SchemaError | Cause.NoSuchElementError> | Unavailable

// A statement of an aborted transaction can't be repeated alone; the whole transaction is.
const InTransaction = Context.Reference<boolean>("agent-memory/server/sql/SqlFailure/InTransaction", {
  defaultValue: () => false
})

// Shut down by an administrator, crashed, starting, out of connections or other resources, read-only after a failover.
const outage = /^(?:08|53|57P|25006)/

const isOutage = ({ reason }: SqlError.SqlError): boolean => {
  switch (reason._tag) {
    case "ConnectionError":
    case "AuthenticationError":
    case "LockTimeoutError":
    case "StatementTimeoutError":
      return true
    case "UnknownError":
      return (
        Predicate.hasProperty(reason.cause, "code") &&
        Predicate.isString(reason.cause.code) &&
        outage.test(reason.cause.code)
      )
    default:
      return false
  }
}

const isContention = ({ reason }: SqlError.SqlError): boolean =>
  reason._tag === "DeadlockError" || reason._tag === "SerializationError"

const contention = Schedule.exponential("5 millis").pipe(Schedule.jittered, Schedule.upTo({ times: 5 }))

const unreachable = Effect.suspend(() =>
  Effect.fail(new Unavailable({ detail: "The database cannot be reached at the moment." }))
)

const settle = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
  Effect.catch(effect, (error): Effect.Effect<never, Refined<E>> => {
    if (SqlError.isSqlError(error)) {
      const answer = isOutage(error)
        ? Effect.logWarning("The database cannot be reached", error.reason._tag).pipe(Effect.andThen(unreachable))
        : Effect.die(error)
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
            Effect.sandbox(effect).pipe(
              Effect.retry({ schedule: contention, while: (cause) => cause.reasons.some(isContended) }),
              Effect.catch((cause) => Effect.failCause(cause))
            )
          )
        )
  )

const isContended = (reason: Cause.Reason<unknown>): boolean => {
  const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
  return SqlError.isSqlError(error) && isContention(error)
}

/** One transaction, repeated as a whole when it lost a deadlock or a serialisation conflict. */
export const transact =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
    refine(sql.withTransaction(Effect.provideService(effect, InTransaction, true)))

/** {@link refine} for a stream of rows; nothing is retried, since its reader has seen a part already. */
export const refineStream = <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, Refined<E>, R> =>
  Stream.catch(stream, (error) => Stream.fromEffect(settle(Effect.fail(error))))
