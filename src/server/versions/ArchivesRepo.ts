import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { bigint } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"

/** The SQL that keeps an account's two bounded archives in bounds. */
export class ArchivesRepo extends Context.Service<
  ArchivesRepo,
  {
    /**
     * Removes versions, oldest first and each row's newest last, until at most `bytes` are left. A version that alone is
     * larger goes with its row's earlier ones, and costs no other row anything.
     */
    readonly evictVersions: (accountId: string, bytes: number) => Effect.Effect<void, Unavailable>
    /** Removes idempotency records, oldest first, until at most `bytes` are left, and those that alone are larger. */
    readonly evictRecords: (accountId: string, bytes: number) => Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/versions/ArchivesRepo") {
  static readonly layer = Layer.effect(
    ArchivesRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      // Both statements change nothing when a write is stored meanwhile: their sums would be of another state. A row's
      // versions go from the lowest up: a deleted row's next one is numbered after the highest that is left.
      const evictVersions = Effect.fn("ArchivesRepo.evictVersions")(function* (accountId: string, bytes: number) {
        yield* sql`
          WITH kept AS (
            SELECT ctid AS place, table_name, row_id, version, bytes, archived_at,
              version = max(version) OVER (PARTITION BY table_name, row_id) AS is_newest,
              version <= coalesce(
                max(version) FILTER (WHERE bytes > ${bigint(bytes)}) OVER (PARTITION BY table_name, row_id), 0
              ) AS is_lost
            FROM versions
            WHERE account_id = ${accountId}
          ), ranked AS (
            SELECT place, bytes, is_lost,
              sum(bytes) FILTER (WHERE NOT is_lost)
                OVER (ORDER BY is_newest DESC, archived_at DESC, table_name, row_id, version DESC) AS held
            FROM kept
          ), victims AS (
            SELECT place, bytes FROM ranked WHERE is_lost OR held > ${bigint(bytes)}
          ), account AS (
            UPDATE accounts
            SET revision = revision + 1,
              version_bytes = version_bytes - (SELECT coalesce(sum(bytes), 0) FROM victims)::bigint
            WHERE account_id = ${accountId}
              AND revision = (SELECT revision FROM accounts WHERE account_id = ${accountId})
            RETURNING account_id
          )
          DELETE FROM versions v
          USING account a
          WHERE v.account_id = a.account_id AND v.ctid = ANY (ARRAY(SELECT place FROM victims))
        `
      }, refine)

      const evictRecords = Effect.fn("ArchivesRepo.evictRecords")(function* (accountId: string, bytes: number) {
        yield* sql`
          WITH ranked AS (
            SELECT ctid AS place, bytes,
              sum(bytes) FILTER (WHERE bytes <= ${bigint(bytes)}) OVER (ORDER BY created_at DESC, scope, key) AS held
            FROM idempotency_records
            WHERE account_id = ${accountId}
          ), victims AS (
            SELECT place, bytes FROM ranked WHERE bytes > ${bigint(bytes)} OR held > ${bigint(bytes)}
          ), account AS (
            UPDATE accounts
            SET revision = revision + 1,
              idempotency_bytes = idempotency_bytes - (SELECT coalesce(sum(bytes), 0) FROM victims)::bigint
            WHERE account_id = ${accountId}
              AND revision = (SELECT revision FROM accounts WHERE account_id = ${accountId})
            RETURNING account_id
          )
          DELETE FROM idempotency_records i
          USING account a
          WHERE i.account_id = a.account_id AND i.ctid = ANY (ARRAY(SELECT place FROM victims))
        `
      }, refine)

      return ArchivesRepo.of({ evictVersions, evictRecords })
    })
  )
}
