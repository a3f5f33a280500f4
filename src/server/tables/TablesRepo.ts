import { Context, Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { exportFrames, type ExportedRow } from "./ExportText.ts"
import { texts } from "../sql/Params.ts"
import { refine, refineStream } from "../sql/SqlFailure.ts"

/** A table as the listing shows it (specification section 2.1). */
export interface TableEntry {
  readonly name: string
  readonly rows: number
}

/** What an account holds; bytes are without the rows' system fields. */
export interface Totals {
  readonly tables: number
  readonly rows: number
  readonly storageBytes: number
  readonly versionBytes: number
}

/** The SQL that reads an account as a whole. */
export class TablesRepo extends Context.Service<
  TablesRepo,
  {
    readonly list: (accountId: string, versionDays: number) => Effect.Effect<ReadonlyArray<TableEntry>, Unavailable>
    /** Bytes of the account's live rows, without their system fields. */
    readonly storageBytes: (accountId: string) => Effect.Effect<number, Unavailable>
    readonly totals: (accountId: string) => Effect.Effect<Totals, Unavailable>
    /** {@link storageBytes} of these tables alone. */
    readonly storageBytesOf: (accountId: string, tables: ReadonlyArray<string>) => Effect.Effect<number, Unavailable>
    /** All live rows by table name and then insertion order, of one snapshot, a few at a time. */
    readonly allRows: (accountId: string) => Stream.Stream<ExportedRow, Unavailable>
  }
>()("agent-memory/server/tables/TablesRepo") {
  static readonly layer = Layer.effect(
    TablesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = Effect.fn("TablesRepo.list")(function* (accountId: string, versionDays: number) {
        return yield* sql<TableEntry>`
          SELECT t.name, t.rows
          FROM tables t
          WHERE t.account_id = ${accountId}
            AND (t.rows > 0 OR EXISTS (
              SELECT FROM versions v
              WHERE v.account_id = ${accountId} AND v.table_name = t.name
                AND v.archived_at > memory_now() - make_interval(days => ${versionDays}::integer)
            ))
          ORDER BY t.name
        `
      }, refine)

      const storageBytes = Effect.fn("TablesRepo.storageBytes")(function* (accountId: string) {
        const found = yield* sql<{ bytes: bigint | string | number }>`
          SELECT storage_bytes AS bytes FROM accounts WHERE account_id = ${accountId}
        `
        return Number(found[0]?.bytes ?? 0)
      }, refine)

      const totals = Effect.fn("TablesRepo.totals")(function* (accountId: string) {
        const found = yield* sql<{ storage_bytes: bigint; version_bytes: bigint; tables: number; rows: bigint }>`
          SELECT a.storage_bytes, a.version_bytes, t.tables, t.rows
          FROM accounts a
          CROSS JOIN LATERAL (
            SELECT count(*)::integer AS tables, coalesce(sum(rows), 0)::bigint AS rows
            FROM tables
            WHERE account_id = a.account_id AND rows > 0
          ) t
          WHERE a.account_id = ${accountId}
        `
        const { rows, storage_bytes, tables, version_bytes } = found[0]!
        return {
          tables,
          rows: Number(rows),
          storageBytes: Number(storage_bytes),
          versionBytes: Number(version_bytes)
        }
      }, refine)

      const storageBytesOf = Effect.fn("TablesRepo.storageBytesOf")(function* (
        accountId: string,
        tables: ReadonlyArray<string>
      ) {
        const found = yield* sql<{ bytes: number }>`
          SELECT coalesce(sum(octet_length(data)), 0)::float8 AS bytes
          FROM rows
          WHERE account_id = ${accountId} AND table_name = ANY(${texts(tables)})
        `
        return found[0]?.bytes ?? 0
      }, refine)

      const allRows = (accountId: string) =>
        sql<{ table_name: string; id: string; created_at: Date; updated_at: Date; data: string; bytes: number }>`
          SELECT table_name, id, created_at, updated_at, data, (
            SELECT sum(t.bytes + octet_length(t.table_name) + ${exportFrames.table}::integer)::float8
            FROM (
              SELECT table_name,
                sum(
                  octet_length(data) + octet_length(id) + ${exportFrames.row}::integer
                    - (octet_length(data) = 2)::integer
                ) AS bytes
              FROM rows
              WHERE account_id = ${accountId}
              GROUP BY table_name
            ) AS t
          ) AS bytes
          FROM rows
          WHERE account_id = ${accountId}
          ORDER BY table_name, seq
        `.stream.pipe(
          Stream.map((row) => ({
            table: row.table_name,
            bytes: row.bytes,
            row: {
              id: row.id,
              createdAt: row.created_at.getTime(),
              updatedAt: row.updated_at.getTime(),
              data: JsonText.trusted(row.data)
            }
          })),
          refineStream
        )

      return TablesRepo.of({ list, storageBytes, storageBytesOf, totals, allRows })
    })
  )
}
