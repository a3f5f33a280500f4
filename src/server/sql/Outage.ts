import { Predicate } from "effect"
import type { SqlError } from "effect/sql"
import { Unavailable } from "../../domain/Problem.ts"

/** Why the database did not do its part, in words for the log and for the caller. */
export interface Outage {
  readonly message: string
  readonly detail: string
  /** The system's code, such as `ECONNREFUSED`, or what PostgreSQL said, in a few words of our own. */
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

// PostgreSQL's codes and messages stay out of the log: its messages quote values.
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

/** The innermost code of a failure: the driver wraps what the system said. */
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

/** What a failed statement says about the database; undefined where the statement itself is at fault. */
export const outageOf = ({ reason }: SqlError.SqlError): Outage | undefined => {
  const code = codeOf(reason)
  switch (reason._tag) {
    case "ConnectionError":
    case "AuthenticationError":
      return { ...unreachable, cause: causeOf(code, "the connection was lost or not made") }
    case "LockTimeoutError":
      return { ...slow, cause: "a lock was not free in time" }
    case "StatementTimeoutError":
      return { ...slow, cause: "a statement was cancelled" }
    case "UnknownError": {
      if (code === undefined || !isSqlState(code)) return undefined
      if (code.startsWith("08") || code.startsWith("57P")) {
        return { ...unreachable, cause: causeOf(code, "the connection was lost or not made") }
      }
      if (code.startsWith("53")) return { ...exhausted, cause: causeOf(code, "a resource is used up") }
      return code === "25006" ? { ...readOnly, cause: causeOf(code, "") } : undefined
    }
    default:
      return undefined
  }
}

/** The caller's answer to an outage. */
export const unavailable = ({ detail }: Outage) => new Unavailable({ detail })
