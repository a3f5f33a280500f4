import type { SqlClient, Statement } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import type { Filter } from "../../../domain/Query.ts"
import { refine } from "../../sql/SqlFailure.ts"
import { revisionOf } from "../../sql/LockAccount.ts"
import { traced } from "../../telemetry/Traced.ts"
import { WorkRow } from "./Workspace.ts"

/** Deleted rows of a table to find: of all of them where the filter is empty. */
export interface WantedDeleted {
  readonly table: string
  readonly filter: Filter
}

/** A deleted row of which a version is left. */
export interface DeletedRow {
  readonly row: WorkRow
  /** The row as it last was, to compare with the filter. For an empty one its fields are not read. */
  readonly last: WorkRow
}

interface LoadedDeleted {
  readonly revision: bigint
  readonly id: string | null
  readonly seq: bigint
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_version: number
  readonly data: string | null
}

const unread = JsonText.trusted("{}")

const deletedRow = (table: string, { data, last_version, ...found }: LoadedDeleted): DeletedRow => {
  const updatedAt = found.updated_at.getTime()
  const place = { table, id: found.id!, seq: Number(found.seq), createdAt: found.created_at.getTime() }
  const content = { updatedAt, data: data === null ? unread : JsonText.trusted(data) }
  return {
    row: new WorkRow(place, undefined, last_version, updatedAt),
    last: new WorkRow(place, content, last_version, updatedAt)
  }
}

/** Finds the deleted rows that a filter may mean, with versions that expired and are not swept yet, and how many bytes these have. */
export const makeDeletedFinder = (sql: SqlClient.SqlClient) => {
  // SQL compares no fields of versions: the service looks at each row.
  const newest = ({ filter, table }: WantedDeleted): Statement.Fragment => sql`(
            SELECT DISTINCT ON (v.row_id) v.row_id, v.version, v.seq, v.created_at, v.updated_at, v.data, v.bytes
            FROM versions v
            WHERE v.account_id = a.account_id AND v.table_name = ${table}
              ${filter.id === undefined ? sql`` : sql`AND v.row_id = ${filter.id}`}
              AND NOT EXISTS (
                SELECT FROM rows r
                WHERE r.account_id = a.account_id AND r.table_name = ${table} AND r.id = v.row_id
              )
            ORDER BY v.row_id, v.version DESC
          )`

  const deleted = traced("SnapshotRepo.deleted")(function* (accountId: AccountId, wanted: WantedDeleted) {
    const found = yield* sql<LoadedDeleted>`
          SELECT a.revision, v.row_id AS id, v.seq, v.created_at, v.updated_at, v.version AS last_version,
            ${wanted.filter.isEmpty ? sql`NULL` : sql`v.data`} AS data
          FROM accounts a
          LEFT JOIN LATERAL ${newest(wanted)} v ON true
          WHERE a.account_id = ${accountId}
          ORDER BY v.seq
        `
    return {
      revision: yield* revisionOf(found),
      rows: found.flatMap((one) => (one.id === null ? [] : [deletedRow(wanted.table, one)]))
    }
  }, refine)

  /** The bytes of what `deleted` reads. */
  const deletedBytes = traced("SnapshotRepo.deletedBytes")(function* (accountId: AccountId, wanted: WantedDeleted) {
    if (wanted.filter.isEmpty) return 0
    const found = yield* sql<{ bytes: number }>`
          SELECT coalesce(sum(v.bytes), 0)::float8 AS bytes
          FROM accounts a
          CROSS JOIN LATERAL ${newest(wanted)} v
          WHERE a.account_id = ${accountId}
        `
    return found[0]?.bytes ?? 0
  }, refine)

  return { deleted, deletedBytes }
}
