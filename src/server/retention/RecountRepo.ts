import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { refine } from "../sql/SqlFailure.ts"

/** A counter that differs from what it counts. `table` is the table's name for a counter of rows. */
export interface Drift {
  readonly account_id: string
  readonly counter: "storage_bytes" | "version_bytes" | "idempotency_bytes" | "rows"
  readonly table?: string
  readonly recorded: number
  readonly counted: number
}

/** The SQL that counts accounts anew. It only reads. */
export class RecountRepo extends Context.Service<
  RecountRepo,
  {
    /** Some account ids in their order, after the given one. */
    readonly accounts: (after: string, limit: number) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    /** The account's counters that are wrong, all seen at one moment. */
    readonly drifts: (accountId: string) => Effect.Effect<ReadonlyArray<Drift>, Unavailable>
  }
>()("agent-memory/server/retention/RecountRepo") {
  static readonly layer = Layer.effect(
    RecountRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const accounts = Effect.fn("RecountRepo.accounts")(function* (after: string, limit: number) {
        const found = yield* sql<{ account_id: string }>`
          SELECT account_id FROM accounts WHERE account_id > ${after} ORDER BY account_id LIMIT ${limit}
        `
        return found.map((row) => row.account_id)
      }, refine)

      // One statement is one snapshot: writes that are stored meanwhile are wholly in it or not at all.
      const drifts = Effect.fn("RecountRepo.drifts")(function* (accountId: string) {
        const found = yield* sql<{
          counter: Drift["counter"]
          table_name: string | null
          recorded: bigint
          counted: bigint
        }>`
          WITH counters AS (
            SELECT c.counter, NULL::text AS table_name, c.recorded, c.counted
            FROM accounts a
            CROSS JOIN LATERAL (
              VALUES (
                'storage_bytes', a.storage_bytes,
                (SELECT coalesce(sum(octet_length(data)), 0) FROM rows WHERE account_id = ${accountId})
              ), (
                'version_bytes', a.version_bytes,
                (SELECT coalesce(sum(octet_length(data)), 0) FROM versions WHERE account_id = ${accountId})
              ), (
                'idempotency_bytes', a.idempotency_bytes,
                (SELECT coalesce(sum(octet_length(answer)), 0) FROM idempotency_records WHERE account_id = ${accountId})
              )
            ) AS c (counter, recorded, counted)
            WHERE a.account_id = ${accountId}
            UNION ALL
            SELECT 'rows', name, coalesce(t.rows, 0), coalesce(c.rows, 0)
            FROM (SELECT name, rows FROM tables WHERE account_id = ${accountId}) t
            FULL JOIN (
              SELECT table_name AS name, count(*) AS rows FROM rows WHERE account_id = ${accountId} GROUP BY table_name
            ) c USING (name)
          )
          SELECT counter, table_name, recorded::bigint AS recorded, counted::bigint AS counted
          FROM counters
          WHERE recorded <> counted
          ORDER BY counter, table_name
        `
        return found.map((row) => ({
          account_id: accountId,
          counter: row.counter,
          ...(row.table_name === null ? {} : { table: row.table_name }),
          recorded: Number(row.recorded),
          counted: Number(row.counted)
        }))
      }, refine)

      return RecountRepo.of({ accounts, drifts })
    })
  )
}
