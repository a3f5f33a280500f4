import type { SqlClient, Statement } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { bigint, foundAt, texts } from "../../sql/SharedSql.ts"
import { refine } from "../../sql/SqlFailure.ts"
import { traced } from "../../telemetry/Telemetry.ts"
import type { Undoable } from "../operations/Restore.ts"
import { liveRow, WorkRow } from "./Workspace.ts"

/** A write to take back: of its rows, those in these tables; null for all. */
export interface WantedUndo {
  readonly change: number
  readonly tables: ReadonlyArray<string> | null
}

interface LoadedUndo {
  readonly revision: bigint
  readonly id: string | null
  readonly table_name: string
  readonly operation: string
  readonly version: number | null
  readonly live_seq: bigint | null
  readonly live_created_at: Date
  readonly live_updated_at: Date
  readonly live_version: number
  readonly live_change: bigint | null
  readonly live_data: string
  readonly seq: bigint | null
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_version: number
  readonly last_change: bigint | null
  readonly before: string | null
}

const undoableOf = (found: LoadedUndo & { readonly id: string }): Undoable => {
  const { before, id, table_name: table, version } = found
  const last = found.live_seq === null ? found.last_change : found.live_change
  return {
    table,
    id,
    row: rowOf(table, id, found),
    lastChange: last === null ? null : Number(last),
    isDelete: found.operation === "delete",
    before: version === null ? null : before === null ? undefined : JsonText.trusted(before)
  }
}

const rowOf = (table: string, id: string, found: LoadedUndo): WorkRow | undefined => {
  if (found.live_seq !== null) {
    return liveRow(table, {
      id,
      seq: Number(found.live_seq),
      createdAt: found.live_created_at.getTime(),
      updatedAt: found.live_updated_at.getTime(),
      lastVersion: found.live_version,
      data: JsonText.trusted(found.live_data)
    })
  }
  if (found.seq === null) return undefined
  const place = { table, id, seq: Number(found.seq), createdAt: found.created_at.getTime() }
  return new WorkRow(place, undefined, found.last_version, found.updated_at.getTime())
}

/** Finds the rows of a write, each as it is now and as it was before, and how many bytes these have. */
export const makeUndoFinder = (sql: SqlClient.SqlClient) => {
  const entries = ({ change, tables }: WantedUndo): Statement.Fragment => sql`LATERAL (
            SELECT table_name, row_id, operation, version, place
            FROM changes
            WHERE account_id = a.account_id AND change = ${bigint(change)} AND change > a.swept_change
              ${tables === null ? sql`` : sql`AND table_name = ANY (${texts(tables)}::text[])`}
          ) c`

  const undoable = traced("SnapshotRepo.undoable")(function* (
    accountId: AccountId,
    wanted: WantedUndo,
    versionDays: number
  ) {
    const found = yield* sql<LoadedUndo>`
          SELECT a.revision, c.row_id AS id, c.table_name, c.operation, c.version, r.seq AS live_seq,
            r.created_at AS live_created_at, r.updated_at AS live_updated_at, r.last_version AS live_version,
            r.change AS live_change, r.data AS live_data, newest.seq, newest.created_at, newest.updated_at,
            newest.version AS last_version, newest.change AS last_change, v.data AS before
          FROM accounts a
          LEFT JOIN ${entries(wanted)} ON true
          LEFT JOIN LATERAL (
            SELECT seq, created_at, updated_at, last_version, change, data
            FROM rows
            WHERE account_id = a.account_id AND table_name = c.table_name AND id = c.row_id
            LIMIT 1
          ) r ON true
          LEFT JOIN LATERAL (
            SELECT version, seq, created_at, updated_at, change
            FROM versions
            WHERE account_id = a.account_id AND table_name = c.table_name AND row_id = c.row_id
            ORDER BY version DESC
            LIMIT 1
          ) newest ON true
          LEFT JOIN LATERAL (
            SELECT data
            FROM versions
            WHERE account_id = a.account_id AND table_name = c.table_name AND row_id = c.row_id AND version = c.version
              AND archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
            LIMIT 1
          ) v ON true
          WHERE a.account_id = ${accountId}
          ORDER BY c.place
        `
    return yield* foundAt(found, undoableOf)
  }, refine)

  /** The bytes of the rows as they are and as they were, without reading them. */
  const undoableBytes = traced("SnapshotRepo.undoableBytes")(function* (accountId: AccountId, wanted: WantedUndo) {
    const found = yield* sql<{ bytes: number }>`
          SELECT coalesce(sum(r.bytes), 0)::float8 + coalesce(sum(v.bytes), 0)::float8 AS bytes
          FROM accounts a
          CROSS JOIN ${entries(wanted)}
          LEFT JOIN LATERAL (
            SELECT octet_length(data) AS bytes
            FROM rows
            WHERE account_id = a.account_id AND table_name = c.table_name AND id = c.row_id
            LIMIT 1
          ) r ON true
          LEFT JOIN LATERAL (
            SELECT bytes
            FROM versions
            WHERE account_id = a.account_id AND table_name = c.table_name AND row_id = c.row_id AND version = c.version
            LIMIT 1
          ) v ON true
          WHERE a.account_id = ${accountId}
        `
    return found[0]?.bytes ?? 0
  }, refine)

  return { undoable, undoableBytes }
}
