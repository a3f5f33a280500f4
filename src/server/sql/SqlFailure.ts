import { Cause, Context, Data, Effect, Predicate, Schedule, Schema, Stream } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { Unavailable } from "../../domain/Problem.ts"
import * as Metrics from "../telemetry/Metrics.ts"

/** Why the database could not run a statement. */
interface Outage {
  /** For the log. */
  readonly message: string
  /** For the caller. */
  readonly detail: string
  /** The system's code, such as `ECONNREFUSED`, or PostgreSQL's error in a few words that quote no values. */
  readonly cause: string
}

const unreachable = {
  message: "The database cannot be reached",
  detail: "The database cannot be reached at the moment."
}
const slow = {
  message: "The database was too slow",
  detail: "The database was too slow for this request. Try again."
}
const exhausted = {
  message: "The database has no resources left",
  detail: "The database has no room or no connections left at the moment."
}
const readOnly = {
  message: "The database takes no writes",
  detail: "The database takes no writes at the moment."
}

// PostgreSQL's messages stay out of the log, because they quote values.
const words: Record<string, string> = {
  "25006": "it is read-only, as a replica is",
  "28000": "the user may not connect",
  "28P01": "the password is wrong",
  "53100": "the disk is full",
  "53200": "out of memory",
  "53300": "too many connections",
  "57P01": "an administrator ended the connection",
  "57P02": "the server crashed",
  "57P03": "the server is starting or stopping",
  "57P04": "the database was dropped",
  "57P05": "the connection was idle for too long"
}

/** The innermost code of a failure, such as `ECONNREFUSED`: drivers wrap the system's error. */
export const codeOf = (error: unknown): string | undefined => {
  if (!Predicate.hasProperty(error, "cause") && !Predicate.hasProperty(error, "code")) return undefined
  const inner = Predicate.hasProperty(error, "cause") ? codeOf(error.cause) : undefined
  if (inner !== undefined) return inner
  if (error instanceof AggregateError) return codeOf(error.errors[0])
  return Predicate.hasProperty(error, "code") && Predicate.isString(error.code) ? error.code : undefined
}

const isSqlState = (code: string): boolean => /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code)

const causeOf = (code: string | undefined, otherwise: string): string => {
  if (code === undefined) return otherwise
  return words[code] ?? (isSqlState(code) ? otherwise : code)
}

/** The outage that a failed statement means; undefined if the statement itself is wrong. */
const outageOf = ({ reason }: SqlError.SqlError): Outage | undefined => {
  const code = codeOf(reason)
  const lost = { ...unreachable, cause: causeOf(code, "the connection was lost or not made") }
  switch (reason._tag) {
    case "ConnectionError":
    case "AuthenticationError":
      return lost
    case "LockTimeoutError":
      return { ...slow, cause: "a lock was not free in time" }
    case "StatementTimeoutError":
      return { ...slow, cause: "a statement was cancelled" }
    case "UnknownError": {
      if (code === undefined || !isSqlState(code)) return undefined
      if (code.startsWith("08") || code.startsWith("57P")) return lost
      if (code.startsWith("53")) return { ...exhausted, cause: causeOf(code, "a resource is used up") }
      return code === "25006" ? { ...readOnly, cause: causeOf(code, "") } : undefined
    }
    default:
      return undefined
  }
}

/** The database's disk is full, for callers that can do without the write. */
export class DiskFull extends Data.TaggedError("DiskFull")<{ readonly failure: SqlError.SqlError }> {}

const isDiskFull = (error: unknown): error is SqlError.SqlError =>
  SqlError.isSqlError(error) && codeOf(error.reason) === "53100"

/** Turns a statement's failure into {@link DiskFull} where that is its cause. */
export const catchDiskFull = <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | DiskFull, R> =>
  Effect.mapError(statement, (error) => (isDiskFull(error) ? new DiskFull({ failure: error }) : error))

/** Runs a statement that also notes the time of a use, or without the note if the disk is full. */
export const notingUse = <A, E, R>(statement: (notesUse: boolean) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catch(statement(true), (error) => (isDiskFull(error) ? statement(false) : Effect.fail(error)))

/** The failures that {@link refine} leaves: an outage is `Unavailable`, every other failure of SQL is a defect. */
export type Refined<E> = Exclude<E, SqlError.SqlError | Schema.SchemaError | Cause.NoSuchElementError> | Unavailable

// After a failure in a transaction only the whole transaction can be repeated.
const InTransaction = Context.Reference<boolean>("agent-memory/server/sql/SqlFailure/InTransaction", {
  defaultValue: () => false
})

const contention = Schedule.exponential("5 millis").pipe(Schedule.jittered, Schedule.upTo({ times: 5 }))

const settle = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
  Effect.catch(effect, (error): Effect.Effect<never, Refined<E>> => {
    if (SqlError.isSqlError(error)) {
      const outage = outageOf(error)
      const failure =
        outage === undefined
          ? Effect.die(error)
          : Effect.andThen(
              Effect.logWarning(outage.message, { reason: error.reason._tag, cause: outage.cause }),
              Effect.fail(new Unavailable({ detail: outage.detail }))
            )
      return Effect.andThen(Metrics.databaseFailed(error.reason._tag), failure)
    }
    if (Schema.isSchemaError(error) || Cause.isNoSuchElementError(error)) return Effect.die(error)
    return Effect.fail(error as Refined<E>)
  })

/**
 * The failures of a statement as its callers see them: deadlocks and serialisation failures are retried up to five times,
 * an outage is {@link Unavailable}, and every other failure of SQL is a defect.
 */
export const refine = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
  Effect.flatMap(InTransaction, (inside) =>
    inside
      ? settle(effect)
      : settle(
          Metrics.databaseOperation(
            Effect.catchCause(effect, (cause) =>
              isContended(cause) ? retried(effect, cause) : Effect.failCause(withoutLostRollback(cause))
            )
          )
        )
  )

/** Repeats an effect that has failed once. The schedule is made only then, because it costs more than a statement's other handling. */
const retried = <A, E, R>(effect: Effect.Effect<A, E, R>, failure: Cause.Cause<E>) => {
  let isFirst = true
  const attempt = Effect.suspend(() => {
    if (!isFirst) return effect
    isFirst = false
    return Effect.failCause(failure)
  })
  return Effect.sandbox(attempt).pipe(
    Effect.retry({ schedule: contention, while: isContended }),
    Effect.catch((cause) => Effect.failCause(withoutLostRollback(cause)))
  )
}

/** On a broken connection ROLLBACK fails, too, with a defect that would hide the outage. PostgreSQL rolls back by itself. */
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

const isContended = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.some((reason) => {
    const error = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    return SqlError.isSqlError(error) && /^(?:Deadlock|Serialization)Error$/.test(error.reason._tag)
  })

/** Runs an effect in a transaction, which is repeated as a whole after a deadlock or serialisation failure. */
export const transact =
  (sql: SqlClient.SqlClient) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, Refined<E>, R> =>
    refine(sql.withTransaction(Effect.provideService(effect, InTransaction, true)))

/** {@link refine} for a stream of rows, without a retry: its reader has seen a part of it. */
export const refineStream = <A, E, R>(stream: Stream.Stream<A, E, R>): Stream.Stream<A, Refined<E>, R> =>
  Stream.catch(stream, (error) => Stream.fromEffect(settle(Effect.fail(error))))
