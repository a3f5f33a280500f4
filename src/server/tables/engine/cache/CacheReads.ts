import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { JsonText } from "../../../../domain/json/JsonText.ts"
import type { Unavailable } from "../../../../domain/Problem.ts"
import { refine } from "../../../sql/SqlFailure.ts"
import { inTurns } from "../../Turns.ts"
import { CachedTable, rowOverhead, type CachedRow } from "./CachedTable.ts"

/** Of which server an answer is, and of which revision of the account: one snapshot of both and of what comes with them. */
interface Snapshot {
  readonly revision: number
  readonly incarnation: number
}

export interface LoadedTable extends Snapshot {
  /** Undefined where the table is too large. */
  readonly table: CachedTable | undefined
}

export interface TableRevisions extends Snapshot {
  /** The revision at which each of the account's tables last changed. Tables that were never written have none. */
  readonly tables: ReadonlyMap<string, number>
}

/** What the cache reads; undefined where there is no such account. */
export interface CacheReads {
  /** A table whose rows have at most `most` bytes with their overhead. */
  readonly load: (accountId: string, table: string, most: number) => Effect.Effect<LoadedTable | undefined, Unavailable>
  readonly revisions: (accountId: string) => Effect.Effect<TableRevisions | undefined, Unavailable>
}

interface LoadedRow extends Snapshot {
  readonly bytes: number
  readonly seq: number | null
  readonly id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly last_version: number
  readonly data: string
}

const rowOf = (row: LoadedRow): CachedRow => ({
  id: row.id,
  createdAt: row.created_at.getTime(),
  updatedAt: row.updated_at.getTime(),
  data: JsonText.trusted(row.data),
  seq: row.seq!,
  lastVersion: row.last_version
})

/** The SQL of the cache: each answer is of one statement, so that rows and revision belong together. */
export const makeCacheReads = (sql: SqlClient.SqlClient): CacheReads => {
  // Behind OFFSET, the rows of a table that is too large are not even looked for.
  const load = Effect.fn("TableCache.load")(function* (accountId: string, table: string, most: number) {
    const found = yield* refine(sql<LoadedRow>`
      SELECT a.revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation,
        t.bytes, r.seq::float8 AS seq, r.id, r.created_at, r.updated_at, r.last_version, r.data
      FROM accounts a
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(octet_length(data) + ${rowOverhead}::integer), 0)::float8 AS bytes
        FROM rows
        WHERE account_id = a.account_id AND table_name = ${table}
      ) t
      LEFT JOIN LATERAL (
        SELECT seq, id, created_at, updated_at, last_version, data
        FROM rows
        WHERE t.bytes <= ${most}::float8 AND account_id = a.account_id AND table_name = ${table}
        OFFSET 0
      ) r ON true
      WHERE a.account_id = ${accountId}
      ORDER BY r.seq
    `)
    const first = found[0]
    if (first === undefined) return undefined
    const { bytes, incarnation, revision } = first
    if (bytes > most) return { revision, incarnation, table: undefined }
    const rows = first.seq === null ? [] : found
    return { revision, incarnation, table: yield* inTurns(CachedTable.from(Iterator.from(rows).map(rowOf))) }
  })

  const revisions = Effect.fn("TableCache.revisions")(function* (accountId: string) {
    const [found] = yield* refine(sql<
      Snapshot & { readonly names: ReadonlyArray<string>; readonly revisions: ReadonlyArray<number> }
    >`
      SELECT a.revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation,
        t.names, t.revisions
      FROM accounts a
      CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(name), '{}') AS names, coalesce(array_agg(revision::float8), '{}') AS revisions
        FROM tables
        WHERE account_id = a.account_id
      ) t
      WHERE a.account_id = ${accountId}
    `)
    if (found === undefined) return undefined
    const { incarnation, names, revision, revisions } = found
    return { revision, incarnation, tables: new Map(names.map((name, index) => [name, revisions[index]!])) }
  })

  return { load, revisions }
}
