import { Effect } from "effect"
import type { SqlConnection } from "effect/sql"

/** A node of what PostgreSQL does to carry out a statement, with what it counted if it was carried out. */
export interface Plan {
  readonly "Node Type": string
  readonly "Relation Name"?: string
  readonly Alias?: string
  readonly Operation?: string
  readonly Plans?: ReadonlyArray<Plan>
  readonly [key: string]: unknown
}

const run = (session: SqlConnection.Connection, text: string) => session.executeUnprepared(text, [], undefined)

/** Lets a session keep a statement under a name, as the service's do. It is planned when it is first explained. */
export const prepare = (session: SqlConnection.Connection, name: string, text: string) =>
  run(session, `PREPARE ${name} AS ${text}`)

export const release = (session: SqlConnection.Connection, name: string) =>
  Effect.orDie(run(session, `DEALLOCATE ${name}`))

/** The plans of a statement that the session keeps, for these values as SQL has them. */
export const explained = Effect.fnUntraced(function* (
  session: SqlConnection.Connection,
  name: string,
  values: ReadonlyArray<string>,
  options = ""
) {
  const rows = yield* run(
    session,
    `EXPLAIN (${options}FORMAT JSON) EXECUTE ${name}${values.length === 0 ? "" : `(${values.join()})`}`
  )
  return (rows as ReadonlyArray<Record<"QUERY PLAN", ReadonlyArray<{ Plan: Plan }>>>).flatMap((row) =>
    row["QUERY PLAN"].map(({ Plan }) => Plan)
  )
})

/** {@link explained}, with what each node counted: the statement is carried out, and taken back. */
export const tried = Effect.fnUntraced(function* (
  session: SqlConnection.Connection,
  name: string,
  parameters: ReadonlyArray<unknown>
) {
  // EXECUTE takes no parameters of the protocol's: the server writes them down as it reads them.
  const columns = parameters.map((_, index) => `quote_nullable($${index + 1}::text)`)
  const [values] = yield* session.executeValuesUnprepared(`SELECT ${columns.join()}`, parameters)
  return yield* Effect.acquireUseRelease(
    run(session, "BEGIN"),
    () => explained(session, name, values as ReadonlyArray<string>, "ANALYZE, BUFFERS, TIMING OFF, "),
    () => Effect.orDie(run(session, "ROLLBACK"))
  )
})

/** One reading of a table by a statement: how many rows or, if those are more, blocks it went through for what it needed. */
export interface Reading {
  readonly table: string
  readonly node: string
  readonly amount: number
}

const count = (plan: Plan, ...names: ReadonlyArray<string>): number =>
  names.reduce((sum, name) => sum + Number(plan[name] ?? 0), 0)

/** What a plan that was tried read. A search that goes through a whole table, whatever is in it, has no bound. */
export const readingsOf = (plan: Plan): ReadonlyArray<Reading> => {
  const within = (plan.Plans ?? []).flatMap(readingsOf)
  const node = plan["Node Type"]
  const table = plan["Relation Name"]
  if (table === undefined || node === "ModifyTable") return within
  const rows =
    count(plan, "Actual Rows", "Rows Removed by Filter", "Rows Removed by Index Recheck") * count(plan, "Actual Loops")
  // Entries of an index that don't fit are no rows, but are in its blocks.
  const blocks = count(plan, "Shared Hit Blocks", "Shared Read Blocks")
  return [{ table, node, amount: node === "Seq Scan" ? Infinity : Math.max(rows, blocks) }, ...within]
}
