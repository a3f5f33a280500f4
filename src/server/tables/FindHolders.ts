import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { refine } from "../sql/SqlFailure.ts"

/** A row that had an id before: live, or in the archive, from where it may be restored. */
export interface Holder {
  readonly id: string
  readonly table: string
  readonly isLive: boolean
  readonly isRestorable: boolean
  readonly lastVersion: number
}

/**
 * Finds the rows of all tables that have, or had, one of many ids. No index begins with the id, so the account's ids are
 * gone through once, and each is looked up among the wanted ones: the names of a jsonb object, as a join of two lists is
 * planned badly while the account is new to the statistics.
 */
export const makeHolders = (sql: SqlClient.SqlClient) =>
  Effect.fn("WritesRepo.holders")(function* (accountId: string, ids: ReadonlyArray<string>, versionDays: number) {
    const wanted = `{${ids.map((id) => `"${id}":0`).join()}}`
    const found = yield* sql<{
      revision: bigint
      id: string | null
      table_name: string
      is_live: boolean
      is_restorable: boolean
      last_version: number
    }>`
      WITH wanted AS MATERIALIZED (
        SELECT ${wanted}::text::jsonb AS ids
      )
      SELECT a.revision, h.id, h.table_name, h.is_live, h.is_restorable, h.last_version
      FROM accounts a
      LEFT JOIN (
        SELECT r.id, r.table_name, true AS is_live, false AS is_restorable, 0 AS last_version
        FROM rows r
        WHERE r.account_id = ${accountId} AND (SELECT ids FROM wanted) ? r.id
        UNION ALL
        SELECT v.row_id, v.table_name, false,
          EXISTS (
            SELECT FROM versions k
            WHERE k.account_id = ${accountId} AND k.table_name = v.table_name AND k.row_id = v.row_id
              AND k.archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
          ),
          v.last_version
        FROM (
          SELECT v.row_id, v.table_name, max(v.version) AS last_version
          FROM versions v
          WHERE v.account_id = ${accountId} AND (SELECT ids FROM wanted) ? v.row_id
          GROUP BY v.table_name, v.row_id
        ) v
      ) h ON true
      WHERE a.account_id = ${accountId}
    `
    return {
      revision: Number(found[0]!.revision),
      holders: found.flatMap(({ id, is_live, is_restorable, last_version, table_name }) =>
        id === null
          ? []
          : [{ id, table: table_name, isLive: is_live, isRestorable: is_restorable, lastVersion: last_version }]
      )
    }
  }, refine)
