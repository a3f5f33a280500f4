import type { SqlClient, Statement } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { foundAt, integers, texts } from "../../sql/SharedSql.ts"
import { refine } from "../../sql/SqlFailure.ts"
import { traced } from "../../telemetry/Telemetry.ts"
import { WorkRow } from "./Workspace.ts"
import type { Filter } from "../../../domain/Query.ts"

/** A version that a restore names. */
export interface WantedVersion {
  readonly table: string
  readonly id: string
  readonly version: number
}

/** The largest value of the column of version numbers; requests may name any number. */
const lastInteger = 2_147_483_647

/** Finds the versions of the rows that restores name, with the contents of the wanted ones alone. */
export const makeVersionFinder = (sql: SqlClient.SqlClient) =>
  traced("SnapshotRepo.versions")(function* (
    accountId: AccountId,
    wanted: ReadonlyArray<WantedVersion>,
    versionDays: number
  ) {
    const found = yield* sql<{
      revision: bigint
      id: string | null
      table_name: string
      seq: bigint
      created_at: Date
      last_version: number
      last_update: Date
      version: number
      data: string | null
    }>`
          SELECT a.revision, v.row_id AS id, v.table_name, v.seq, v.created_at, v.version,
            v.last_version, v.last_update, v.data
          FROM accounts a
          LEFT JOIN LATERAL (
            SELECT v.row_id, v.table_name, v.updated_at, v.version, v.archived_at,
              CASE WHEN v.version = ANY(s.versions) THEN v.data END AS data,
              first_value(v.seq) OVER newest AS seq,
              first_value(v.created_at) OVER newest AS created_at,
              max(v.version) OVER (PARTITION BY v.table_name, v.row_id) AS last_version,
              max(v.updated_at) OVER (PARTITION BY v.table_name, v.row_id) AS last_update
            FROM (
              SELECT table_name, id, array_agg(version) AS versions
              FROM unnest(
                ${texts(wanted.map((one) => one.table))}::text[],
                ${texts(wanted.map((one) => one.id))}::text[],
                ${integers(wanted.map(({ version }) => (version > lastInteger ? null : version)))}::integer[]
              ) AS s (table_name, id, version)
              GROUP BY table_name, id
            ) s
            CROSS JOIN LATERAL (
              SELECT *
              FROM versions v
              WHERE v.account_id = a.account_id AND v.table_name = s.table_name AND v.row_id = s.id
              OFFSET 0
            ) v
            WINDOW newest AS (PARTITION BY v.table_name, v.row_id ORDER BY v.version DESC)
          ) v ON v.archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
          WHERE a.account_id = ${accountId}
        `
    return yield* foundAt(found, ({ created_at, data, id, last_update, last_version, seq, table_name, version }) => {
      const place = { table: table_name, id, seq: Number(seq), createdAt: created_at.getTime() }
      const row = new WorkRow(place, undefined, last_version, last_update.getTime())
      return { row, version, data: data === null ? undefined : JsonText.trusted(data) }
    })
  }, refine)

/** A row that has or had an id: live, or archived and perhaps restorable. */
export interface IdOwner {
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
export const makeIdOwnerFinder = (sql: SqlClient.SqlClient) =>
  traced("SnapshotRepo.idOwners")(function* (accountId: AccountId, ids: ReadonlyArray<string>, versionDays: number) {
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
      SELECT a.revision, o.id, o.table_name, o.is_live, o.is_restorable, o.last_version
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
      ) o ON true
      WHERE a.account_id = ${accountId}
    `
    return yield* foundAt(found, ({ id, is_live, is_restorable, last_version, table_name }): IdOwner => ({
      id,
      table: table_name,
      isLive: is_live,
      isRestorable: is_restorable,
      lastVersion: last_version
    }))
  }, refine)

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

const unread = JsonText.trusted("{}")

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
    const found = yield* sql<{
      revision: bigint
      id: string | null
      seq: bigint
      created_at: Date
      updated_at: Date
      last_version: number
      data: string | null
    }>`
          SELECT a.revision, v.row_id AS id, v.seq, v.created_at, v.updated_at, v.version AS last_version,
            ${wanted.filter.isEmpty ? sql`NULL` : sql`v.data`} AS data
          FROM accounts a
          LEFT JOIN LATERAL ${newest(wanted)} v ON true
          WHERE a.account_id = ${accountId}
          ORDER BY v.seq
        `
    return yield* foundAt(found, ({ created_at, data, id, last_version, seq, updated_at }): DeletedRow => {
      const updatedAt = updated_at.getTime()
      const place = { table: wanted.table, id, seq: Number(seq), createdAt: created_at.getTime() }
      const content = { updatedAt, data: data === null ? unread : JsonText.trusted(data) }
      return {
        row: new WorkRow(place, undefined, last_version, updatedAt),
        last: new WorkRow(place, content, last_version, updatedAt)
      }
    })
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
