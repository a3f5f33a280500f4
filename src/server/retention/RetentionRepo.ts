import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { bigint, texts } from "../sql/Params.ts"
import { makeLockAccount } from "../sql/LockAccount.ts"
import { refine } from "../sql/SqlFailure.ts"

/** How long things are kept, and how many of them one statement may touch. */
export interface Bounds {
  readonly rows: number
  readonly versionDays: number
  readonly idempotencyHours: number
}

// Any constant will do, as long as nothing else in the database locks it.
const sweepLock = 7_304_115_260_118n

/**
 * The SQL that removes what is over. What has counters in the account is removed under the account's lock and
 * revision, since writes commit only at the revision that they were computed from.
 *
 * What is to be removed goes through an array, of which PostgreSQL expects few items: it then goes to each of them. Joined
 * with the account, or as the many rows that a limit may let through, it may search all that the table has instead.
 */
export class RetentionRepo extends Context.Service<
  RetentionRepo,
  {
    /** Keeps other sweepers out until the transaction ends; false while one is in. */
    readonly tryLock: Effect.Effect<boolean, Unavailable>
    /** Makes the account's writes wait until the transaction ends; gives its revision. */
    readonly lockAccount: (accountId: string) => Effect.Effect<number | undefined, Unavailable>
    /** Accounts with versions that are over, those with the oldest first. */
    readonly findVersions: (
      bounds: Bounds,
      except: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    readonly removeVersions: (accountId: string, revision: number, bounds: Bounds) => Effect.Effect<number, Unavailable>
    /** Accounts with idempotency records that are over, those with the oldest first. */
    readonly findRecords: (
      bounds: Bounds,
      except: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    readonly removeRecords: (accountId: string, revision: number, bounds: Bounds) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/retention/RetentionRepo") {
  static readonly layer = Layer.effect(
    RetentionRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const tryLock = sql<{ granted: boolean }>`
        SELECT pg_try_advisory_xact_lock(${sweepLock}::bigint) AS granted
      `.pipe(
        Effect.map((rows) => rows[0]!.granted),
        refine
      )

      // The time is read in a subquery: compared with a volatile function, no index would be used.
      const findVersions = Effect.fn("RetentionRepo.findVersions")(function* (
        { rows, versionDays }: Bounds,
        except: ReadonlyArray<string>
      ) {
        const found = yield* sql<{ account_id: string }>`
          SELECT DISTINCT account_id
          FROM (
            SELECT account_id
            FROM versions
            WHERE archived_at <= (SELECT memory_now() - make_interval(days => ${versionDays}::integer))
              AND account_id <> ALL (${texts(except)}::text[])
            ORDER BY archived_at
            LIMIT ${rows}
          ) oldest
        `
        return found.map((row) => row.account_id)
      }, refine)

      // A deleted row's next version is numbered after the highest that is left, and writes may be archived in another
      // order than they were admitted in. So a row's versions go from the lowest up, and none before one that stays.
      const removeVersions = Effect.fn("RetentionRepo.removeVersions")(function* (
        accountId: string,
        revision: number,
        { rows, versionDays }: Bounds
      ) {
        const removed = yield* sql<{ count: number }>`
          WITH cutoff AS MATERIALIZED (
            SELECT memory_now() - make_interval(days => ${versionDays}::integer) AS at
          ), due AS (
            SELECT DISTINCT table_name, row_id
            FROM (
              SELECT table_name, row_id
              FROM versions
              WHERE account_id = ${accountId} AND archived_at <= (SELECT at FROM cutoff)
              ORDER BY archived_at
              LIMIT ${rows}
            ) oldest
          ), victims AS (
            SELECT v.account_id, v.ctid, v.bytes
            FROM due d
            CROSS JOIN LATERAL (
              SELECT *, ctid
              FROM versions v
              WHERE v.account_id = ${accountId} AND v.table_name = d.table_name AND v.row_id = d.row_id
              OFFSET 0
            ) v
            WHERE v.archived_at <= (SELECT at FROM cutoff)
              AND NOT EXISTS (
                SELECT FROM versions lower
                WHERE lower.account_id = ${accountId} AND lower.table_name = v.table_name
                  AND lower.row_id = v.row_id AND lower.version < v.version
                  AND lower.archived_at > (SELECT at FROM cutoff)
              )
            ORDER BY v.table_name, v.row_id, v.version
            LIMIT ${rows}
          ), account AS (
            UPDATE accounts
            SET revision = revision + 1,
              version_bytes = version_bytes - (SELECT coalesce(sum(bytes), 0) FROM victims)::bigint
            WHERE account_id = ${accountId} AND revision = ${bigint(revision)} AND EXISTS (SELECT FROM victims)
            RETURNING account_id
          ), removed AS (
            DELETE FROM versions v
            USING account a, unnest(ARRAY(SELECT account_id FROM victims), ARRAY(SELECT ctid FROM victims))
              AS g (account_id, ctid)
            WHERE v.account_id = g.account_id AND v.ctid = g.ctid
            RETURNING v.version
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      const findRecords = Effect.fn("RetentionRepo.findRecords")(function* (
        { idempotencyHours, rows }: Bounds,
        except: ReadonlyArray<string>
      ) {
        const found = yield* sql<{ account_id: string }>`
          SELECT DISTINCT account_id
          FROM (
            SELECT account_id
            FROM idempotency_records
            WHERE created_at <= (SELECT memory_now() - make_interval(hours => ${idempotencyHours}::integer))
              AND account_id <> ALL (${texts(except)}::text[])
            ORDER BY created_at
            LIMIT ${rows}
          ) oldest
        `
        return found.map((row) => row.account_id)
      }, refine)

      const removeRecords = Effect.fn("RetentionRepo.removeRecords")(function* (
        accountId: string,
        revision: number,
        { idempotencyHours, rows }: Bounds
      ) {
        const removed = yield* sql<{ count: number }>`
          WITH victims AS (
            SELECT account_id, ctid, bytes
            FROM idempotency_records
            WHERE account_id = ${accountId}
              AND created_at <= (SELECT memory_now() - make_interval(hours => ${idempotencyHours}::integer))
            ORDER BY created_at
            LIMIT ${rows}
          ), account AS (
            UPDATE accounts
            SET revision = revision + 1,
              idempotency_bytes = idempotency_bytes - (SELECT coalesce(sum(bytes), 0) FROM victims)::bigint
            WHERE account_id = ${accountId} AND revision = ${bigint(revision)} AND EXISTS (SELECT FROM victims)
            RETURNING account_id
          ), removed AS (
            DELETE FROM idempotency_records i
            USING account a, unnest(ARRAY(SELECT account_id FROM victims), ARRAY(SELECT ctid FROM victims))
              AS g (account_id, ctid)
            WHERE i.account_id = g.account_id AND i.ctid = g.ctid
            RETURNING i.key
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      const lockAccount = makeLockAccount(sql)

      return RetentionRepo.of({
        tryLock,
        lockAccount: (accountId) => refine(lockAccount(accountId)),
        findVersions,
        removeVersions,
        findRecords,
        removeRecords
      })
    })
  )
}
