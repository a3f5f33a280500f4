import type { SqlClient, Statement } from "effect/sql"
import { traced } from "../telemetry/Traced.ts"
import { refine } from "./SqlFailure.ts"

/** What is pruned: the rows of a table that are due, by the columns of its primary key. */
interface Pruned {
  readonly table: string
  readonly key: string
  readonly due: Statement.Fragment
  /** The column that says how long a row has been due, if the oldest are removed first. */
  readonly oldest?: string
}

/**
 * Makes the function that removes at most `rows` rows that are due, and returns how many. It waits for rows that others have
 * locked, and keeps those that are no longer due then.
 */
export const makePrune = (sql: SqlClient.SqlClient, name: string, { due, key, oldest, table }: Pruned) =>
  traced(`${name}.prune`)(function* (rows: number) {
    const order = oldest === undefined ? "" : `ORDER BY ${oldest}`
    const [columns, source, ordered] = [sql.literal(key), sql(table), sql.literal(order)]
    // Materialized: a plan that ran the subquery again could remove more rows.
    const removed = yield* sql<{ count: number }>`
      WITH due AS MATERIALIZED (
        SELECT ${columns} FROM ${source} WHERE ${due} ${ordered} LIMIT ${rows}
      ), removed AS (
        DELETE FROM ${source} WHERE (${columns}) IN (SELECT ${columns} FROM due) AND (${due}) RETURNING 1
      )
      SELECT count(*)::integer AS count FROM removed
    `
    return removed[0]!.count
  }, refine)
