import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import type { ArchiveBytes } from "../../../domain/Limits.ts"
import { Settings } from "../../config/Settings.ts"
import { traced } from "../../telemetry/Telemetry.ts"
import { bigint } from "../../sql/SharedSql.ts"
import { refine } from "../../sql/SqlFailure.ts"

/** What an account has too much of: versions and records by their bytes, or changes by their number. */
export type Overfull = "archive" | "log"

/**
 * Keeps an account's versions, idempotency records and log of changes within their storage limits by removing the oldest, so that a write
 * is never refused for its history.
 */
export class Archives extends Context.Service<Archives>()("agent-memory/server/tables/engine/Archives", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { limits } = yield* Settings

    // Both statements change nothing when a write is stored meanwhile, since their sums would be out of date. A row's
    // versions are removed in order of their numbers: a deleted row's next one is numbered after the highest that is left.

    /**
     * Removes versions, oldest first and each row's newest last, until at most `bytes` are left. A version that is larger
     * than that by itself is removed with its row's earlier ones, and no other row loses anything for it.
     */
    const evictVersions = traced("Archives.evictVersions")(function* (accountId: AccountId, bytes: number) {
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

    /** Removes idempotency records, oldest first, until at most `bytes` are left, and those that are larger by themselves. */
    const evictRecords = traced("Archives.evictRecords")(function* (accountId: AccountId, bytes: number) {
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

    // Nothing is computed from the log, so the revision stays.

    /** Removes the oldest changes, all of a write at once, until at most so many are left. */
    const evictChanges = traced("Archives.evictChanges")(function* (accountId: AccountId, changes: number) {
      yield* sql`
          WITH account AS (
            UPDATE accounts
            SET swept_change = greatest(swept_change, next_change - ${bigint(changes)} - 1)
            WHERE account_id = ${accountId}
            RETURNING account_id, swept_change
          )
          DELETE FROM changes c
          USING account a
          WHERE c.account_id = a.account_id AND c.change <= a.swept_change
        `
    }, refine)

    // Removing a little more than needed lets many writes pass before the archive is ranked again.
    const target = (limit: number) => Math.floor(limit * 0.95)

    const logStep = limits.changes - target(limits.changes)

    /** What is over its limit after a commit, of which the changes have the numbers from `first` to before `next`. */
    const overfullOf = (bytes: ArchiveBytes, first: number, next: number): ReadonlyArray<Overfull> => [
      ...(bytes.versionBytes > limits.versionStorageBytes || bytes.idempotencyBytes > limits.idempotencyStorageBytes
        ? ["archive" as const]
        : []),
      // Numbers count the log, so that it is shortened whenever as many more have been written as there is room for.
      ...(next > limits.changes && Math.floor(next / logStep) > Math.floor(first / logStep) ? ["log" as const] : [])
    ]

    const evict = traced("Archives.evict")(function* (accountId: AccountId, overfull: ReadonlyArray<Overfull>) {
      if (overfull.includes("log")) yield* evictChanges(accountId, target(limits.changes))
      if (!overfull.includes("archive")) return
      yield* evictVersions(accountId, target(limits.versionStorageBytes))
      yield* evictRecords(accountId, target(limits.idempotencyStorageBytes))
    })

    return { overfullOf, evict }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
