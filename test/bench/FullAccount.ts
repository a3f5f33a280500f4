import type { Account } from "./Accounts.ts"
import { query } from "./Database.ts"

/** The id of a row by the numbers of its table and its place there, both from 1 on. */
export const filledId = (table: number, place: number): string =>
  `01a21fbe-ea17-7524-a592-${(table * 100_000 + place).toString(16).padStart(12, "0")}`

/** Fills an account with tables of rows that have versions, at once and with its counters right. */
export const fill = async (
  databaseUrl: string,
  { accountId }: Account,
  tables: number,
  rows: number,
  versions: number
) => {
  // 1,311 bytes a row: 20 tables of 1,000 make 25 MB.
  const rowId = `'01a21fbe-ea17-7524-a592-' || lpad(to_hex(t * 100000 + place), 12, '0')`
  const row = `jsonb_build_object('n', place, 'text', repeat('x', 1285))`
  await query(
    databaseUrl,
    `WITH filled AS (
      INSERT INTO rows
        (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets)
      SELECT $1, 'table' || t, t * 100000 + place, ${rowId}, now, now, $4, ${row}::text, '{}'
      FROM generate_series(1, $2::integer) AS t, generate_series(1, $3::integer) AS place, memory_now() AS now
      RETURNING table_name, seq, id, created_at, data
    ), archived AS (
      INSERT INTO versions
        (account_id, table_name, row_id, version, seq, created_at, updated_at, data, bytes, operation, changed_by,
         archived_at)
      SELECT $1, table_name, id, version, seq, created_at, created_at, data, octet_length(data), 'update',
        '{"kind":"key","id":"bench","name":"bench"}', created_at
      FROM filled, generate_series(1, $4::integer) AS version
    ), counted AS (
      INSERT INTO tables (account_id, name, rows) SELECT $1, table_name, count(*) FROM filled GROUP BY table_name
    )
    UPDATE accounts
    SET revision = revision + 1, next_seq = 10000000, storage_bytes = (SELECT sum(octet_length(data)) FROM filled),
      version_bytes = (SELECT sum(octet_length(data)) FROM filled) * $4
    WHERE account_id = $1`,
    [accountId, tables, rows, versions]
  )
}
