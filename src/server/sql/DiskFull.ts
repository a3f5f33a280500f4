import { Data, Effect } from "effect"
import { SqlError } from "effect/sql"
import { codeOf } from "./Outage.ts"

/** The database's disk has no room for what a statement writes, and whoever asked can do without it. */
export class DiskFull extends Data.TaggedError("DiskFull")<{ readonly failure: SqlError.SqlError }> {}

const isDiskFull = (error: unknown): error is SqlError.SqlError =>
  SqlError.isSqlError(error) && codeOf(error.reason) === "53100"

/** Makes {@link DiskFull} of a statement's failure. */
export const tellDiskFull = <A, E, R>(statement: Effect.Effect<A, E, R>): Effect.Effect<A, E | DiskFull, R> =>
  Effect.mapError(statement, (error) => (isDiskFull(error) ? new DiskFull({ failure: error }) : error))

/** Runs a statement that also notes when something was used; without the note where the disk has no room for it. */
export const notingUse = <A, E, R>(statement: (notesUse: boolean) => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.catch(statement(true), (error) => (isDiskFull(error) ? statement(false) : Effect.fail(error)))
