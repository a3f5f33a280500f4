import { Context, Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import type { Row } from "../../domain/Row.ts"
import { refine, refineStream } from "../sql/SqlFailure.ts"

/** A table as the listing shows it (specification section 2.1). */
export interface TableEntry {
  readonly name: string
  readonly rows: number
}

/** The SQL that reads an account as a whole. */
export class TablesRepo extends Context.Service<
  TablesRepo,
  {
    readonly list: (accountId: string, versionDays: number) => Effect.Effect<ReadonlyArray<TableEntry>, Unavailable>
    /** All live rows by table name and then insertion order, of one snapshot, a few at a time. */
    readonly allRows: (accountId: string) => Stream.Stream<{ readonly table: string; readonly row: Row }, Unavailable>
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

      const allRows = (accountId: string) =>
        sql<{ table_name: string; id: string; created_at: Date; updated_at: Date; data: string }>`
          SELECT table_name, id, created_at, updated_at, data
          FROM rows
          WHERE account_id = ${accountId}
          ORDER BY table_name, seq
        `.stream.pipe(
          Stream.map((row) => ({
            table: row.table_name,
            row: {
              id: row.id,
              createdAt: row.created_at.getTime(),
              updatedAt: row.updated_at.getTime(),
              data: JsonText.trusted(row.data)
            }
          })),
          refineStream
        )

      return TablesRepo.of({ list, allRows })
    })
  )
}
