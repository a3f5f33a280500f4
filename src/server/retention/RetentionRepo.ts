import { Context, Effect, flow, Layer } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { KeyId } from "../../domain/Key.ts"
import { bigint, texts, makeLockAccount } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** How long versions and idempotency records are kept, and how many items one statement may touch. */
interface Bounds {
  readonly rows: number
  readonly versionDays: number
  readonly idempotencyHours: number
}

export interface BucketKey {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly class: string
}

export interface TableKey {
  readonly accountId: AccountId
  readonly name: string
}

/** A page of rows in the order of their primary key. The idle ones can be removed. */
export type Page<Key> = ReadonlyArray<Key & { readonly idle: boolean }>

// Any constant that nothing else in the database locks.
const sweepLock = 7_304_115_260_118n

/**
 * The SQL of sweeps. Items that the account counts are removed under the account's lock and revision, because writes commit
 * only on the revision that they were computed from.
 *
 * Items to remove are passed through arrays: PostgreSQL expects few items of an array and looks each up. With a join it may
 * scan the table instead.
 */
export class RetentionRepo extends Context.Service<RetentionRepo>()("agent-memory/server/retention/RetentionRepo", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** Locks out other sweepers until the transaction ends. False if one has the lock. */
    const tryLock = sql<{ granted: boolean }>`
      SELECT pg_try_advisory_xact_lock(${sweepLock}::bigint) AS granted
    `.pipe(
      Effect.map((rows) => rows[0]!.granted),
      refine
    )

    const daysAgo = ({ versionDays }: Bounds) =>
      sql`(SELECT memory_now() - make_interval(days => ${versionDays}::integer))`
    const hoursAgo = ({ idempotencyHours }: Bounds) =>
      sql`(SELECT memory_now() - make_interval(hours => ${idempotencyHours}::integer))`
    const expiring = {
      versions: { time: sql("archived_at"), last: daysAgo },
      changes: { time: sql("at"), last: daysAgo },
      idempotency_records: { time: sql("created_at"), last: hoursAgo }
    }

    /** Accounts with expired rows in a table, those with the oldest first. */
    const findExpired = traced("RetentionRepo.findExpired")(function* (
      table: keyof typeof expiring,
      bounds: Bounds,
      except: ReadonlyArray<AccountId>
    ) {
      const { last, time } = expiring[table]
      // The time is read in a subquery, because a comparison with a volatile function uses no index.
      const found = yield* sql<{ account_id: AccountId }>`
        SELECT DISTINCT account_id
        FROM (
          SELECT account_id
          FROM ${sql(table)}
          WHERE ${time} <= ${last(bounds)} AND account_id <> ALL (${texts(except)}::text[])
          ORDER BY ${time}
          LIMIT ${bounds.rows}
        ) oldest
      `
      return found.map((row) => row.account_id)
    }, refine)

    /** Ends a statement that found `victims`: changes their account, if it is as `account` says, and removes them. */
    const removing = (table: keyof typeof expiring, changes: Statement.Fragment, account: Statement.Fragment) => sql`
        account AS (
          UPDATE accounts
          SET ${changes}
          WHERE ${account} AND EXISTS (SELECT FROM victims)
          RETURNING account_id
        ), removed AS (
          DELETE FROM ${sql(table)} t
          USING account a, unnest(ARRAY(SELECT account_id FROM victims), ARRAY(SELECT ctid FROM victims))
            AS g (account_id, ctid)
          WHERE t.account_id = g.account_id AND t.ctid = g.ctid
          RETURNING 1
        )
        SELECT count(*)::integer AS count FROM removed`

    const counted = Effect.map((rows: ReadonlyArray<{ readonly count: number }>) => rows[0]!.count)

    const atRevision = (accountId: AccountId, revision: number) =>
      sql`account_id = ${accountId} AND revision = ${bigint(revision)}`

    const countedOut = (column: string) => sql`revision = revision + 1,
            ${sql(column)} = ${sql(column)} - (SELECT coalesce(sum(bytes), 0) FROM victims)::bigint`

    // A deleted row's next version is numbered after the highest one left, and writes may be archived in another order than
    // they were admitted. So a row's versions are removed from the lowest up, and none that is above a version that is kept.
    const removeVersions = traced("RetentionRepo.removeVersions")(
      (accountId: AccountId, revision: number, bounds: Bounds) =>
        sql<{ count: number }>`
        WITH cutoff AS MATERIALIZED (
          SELECT ${daysAgo(bounds)} AS at
        ), due AS (
          SELECT DISTINCT table_name, row_id
          FROM (
            SELECT table_name, row_id
            FROM versions
            WHERE account_id = ${accountId} AND archived_at <= (SELECT at FROM cutoff)
            ORDER BY archived_at
            LIMIT ${bounds.rows}
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
          LIMIT ${bounds.rows}
        ), ${removing("versions", countedOut("version_bytes"), atRevision(accountId, revision))}
      `,
      counted,
      refine
    )

    // From the lowest number up, so that the last number swept says what is missing. Nothing is computed from the log, so the
    // revision stays.
    const swept = sql`swept_change = greatest(swept_change, (SELECT max(change) FROM victims))`
    const removeChanges = traced("RetentionRepo.removeChanges")(
      (accountId: AccountId, _revision: number, bounds: Bounds) =>
        sql<{ count: number }>`
        WITH victims AS (
          SELECT account_id, ctid, change
          FROM (
            SELECT account_id, ctid, change, at
            FROM changes
            WHERE account_id = ${accountId}
            ORDER BY change, place
            LIMIT ${bounds.rows}
          ) oldest
          WHERE at <= ${daysAgo(bounds)}
        ), ${removing("changes", swept, sql`account_id = ${accountId}`)}
      `,
      counted,
      refine
    )

    const removeRecords = traced("RetentionRepo.removeRecords")(
      (accountId: AccountId, revision: number, bounds: Bounds) =>
        sql<{ count: number }>`
        WITH victims AS (
          SELECT account_id, ctid, bytes
          FROM idempotency_records
          WHERE account_id = ${accountId} AND created_at <= ${hoursAgo(bounds)}
          ORDER BY created_at
          LIMIT ${bounds.rows}
        ), ${removing("idempotency_records", countedOut("idempotency_bytes"), atRevision(accountId, revision))}
      `,
      counted,
      refine
    )

    // Tables are walked, because an index on the count would slow down every write.
    const pageTables = traced("RetentionRepo.pageTables")(
      (after: TableKey | undefined, rows: number) =>
        sql<TableKey & { readonly idle: boolean }>`
        WITH page AS MATERIALIZED (
          SELECT account_id, name, rows
          FROM tables
          WHERE (account_id, name) > (${after?.accountId ?? ""}, ${after?.name ?? ""})
          ORDER BY account_id, name
          LIMIT ${rows}
        )
        SELECT p.account_id AS "accountId", p.name, p.rows = 0 AND v.version IS NULL AS idle
        FROM page p
        LEFT JOIN LATERAL (
          SELECT version
          FROM versions
          WHERE account_id = p.account_id AND table_name = p.name AND p.rows = 0
          LIMIT 1
        ) v ON true
        ORDER BY p.account_id, p.name
      `,
      refine
    )

    // Those that have neither rows nor versions.
    const removeTables = traced("RetentionRepo.removeTables")(
      (accountId: AccountId, revision: number, { rows }: Bounds) =>
        sql<{ count: number }>`
        WITH victims AS (
          SELECT t.name
          FROM tables t
          WHERE t.account_id = ${accountId} AND t.rows = 0
            AND NOT EXISTS (SELECT FROM versions v WHERE v.account_id = ${accountId} AND v.table_name = t.name)
          LIMIT ${rows}
        ), account AS (
          UPDATE accounts
          SET revision = revision + 1
          WHERE ${atRevision(accountId, revision)} AND EXISTS (SELECT FROM victims)
          RETURNING account_id
        ), removed AS (
          DELETE FROM tables t
          USING account a, victims x
          WHERE t.account_id = ${accountId} AND t.name = x.name AND t.rows = 0
          RETURNING t.name
        )
        SELECT count(*)::integer AS count FROM removed
      `,
      counted,
      refine
    )

    // Buckets are walked, because an index on tat would be written by every request.
    const pageBuckets = traced("RetentionRepo.pageBuckets")(
      (after: BucketKey | undefined, rows: number) =>
        sql<BucketKey & { readonly idle: boolean }>`
        WITH page AS MATERIALIZED (
          SELECT account_id, key_id, class, tat
          FROM key_buckets
          WHERE (account_id, key_id, class)
            > (${after?.accountId ?? ""}, ${after?.keyId ?? ""}, ${after?.class ?? ""})
          ORDER BY account_id, key_id, class
          LIMIT ${rows}
        )
        SELECT p.account_id AS "accountId", p.key_id AS "keyId", p.class,
          p.tat <= (SELECT memory_now() - interval '1 hour') OR k.revoked_at IS NOT NULL AS idle
        FROM page p
        LEFT JOIN api_keys k ON k.account_id = p.account_id AND k.key_id = p.key_id
        ORDER BY p.account_id, p.key_id, p.class
      `,
      refine
    )

    // A locked bucket is in use, so not idle. Waiting for it with other buckets locked could be a deadlock.
    const removeBuckets = traced("RetentionRepo.removeBuckets")(
      (keys: ReadonlyArray<BucketKey>) =>
        sql<{ count: number }>`
        WITH idle AS (
          SELECT b.account_id, b.key_id, b.class
          FROM unnest(
            ${texts(keys.map((key) => key.accountId))}::text[],
            ${texts(keys.map((key) => key.keyId))}::text[],
            ${texts(keys.map((key) => key.class))}::text[]
          ) AS x (account_id, key_id, class)
          JOIN key_buckets b ON b.account_id = x.account_id AND b.key_id = x.key_id AND b.class = x.class
          LEFT JOIN api_keys k ON k.account_id = x.account_id AND k.key_id = x.key_id
          WHERE b.tat <= (SELECT memory_now() - interval '1 hour') OR k.revoked_at IS NOT NULL
          FOR UPDATE OF b SKIP LOCKED
        ), removed AS (
          DELETE FROM key_buckets b
          USING idle
          WHERE b.account_id = idle.account_id AND b.key_id = idle.key_id AND b.class = idle.class
          RETURNING b.key_id
        )
        SELECT count(*)::integer AS count FROM removed
      `,
      counted,
      refine
    )

    return {
      tryLock,
      lockAccount: flow(makeLockAccount(sql), refine),
      findExpired,
      removeVersions,
      removeChanges,
      removeRecords,
      pageTables,
      removeTables,
      pageBuckets,
      removeBuckets
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
