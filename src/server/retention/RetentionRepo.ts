import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
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

/** A bucket's primary key. */
export interface BucketKey {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly class: string
}

/** A table's primary key. */
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

    /** Accounts with expired versions, those with the oldest first. */
    const findVersions = traced("RetentionRepo.findVersions")(function* (
      { rows, versionDays }: Bounds,
      except: ReadonlyArray<AccountId>
    ) {
      // The time is read in a subquery, because a comparison with a volatile function uses no index.
      const found = yield* sql<{ account_id: AccountId }>`
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

    // A deleted row's next version is numbered after the highest one left, and writes may be archived in another order than
    // they were admitted. So a row's versions are removed from the lowest up, and none that is above a version that is kept.
    const removeVersions = traced("RetentionRepo.removeVersions")(function* (
      accountId: AccountId,
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

    /** Accounts with expired changes, those with the oldest first. */
    const findChanges = traced("RetentionRepo.findChanges")(function* (
      { rows, versionDays }: Bounds,
      except: ReadonlyArray<AccountId>
    ) {
      const found = yield* sql<{ account_id: AccountId }>`
        SELECT DISTINCT account_id
        FROM (
          SELECT account_id
          FROM changes
          WHERE at <= (SELECT memory_now() - make_interval(days => ${versionDays}::integer))
            AND account_id <> ALL (${texts(except)}::text[])
          ORDER BY at
          LIMIT ${rows}
        ) oldest
      `
      return found.map((row) => row.account_id)
    }, refine)

    // From the lowest number up, so that the last number swept says what is missing. Nothing is computed from the log, so the
    // revision stays.
    const removeChanges = traced("RetentionRepo.removeChanges")(function* (
      accountId: AccountId,
      { rows, versionDays }: Bounds
    ) {
      const removed = yield* sql<{ count: number }>`
        WITH victims AS (
          SELECT account_id, ctid, change
          FROM (
            SELECT account_id, ctid, change, at
            FROM changes
            WHERE account_id = ${accountId}
            ORDER BY change, place
            LIMIT ${rows}
          ) oldest
          WHERE at <= (SELECT memory_now() - make_interval(days => ${versionDays}::integer))
        ), account AS (
          UPDATE accounts
          SET swept_change = greatest(swept_change, (SELECT max(change) FROM victims))
          WHERE account_id = ${accountId} AND EXISTS (SELECT FROM victims)
          RETURNING account_id
        ), removed AS (
          DELETE FROM changes c
          USING account a, unnest(ARRAY(SELECT account_id FROM victims), ARRAY(SELECT ctid FROM victims))
            AS g (account_id, ctid)
          WHERE c.account_id = g.account_id AND c.ctid = g.ctid
          RETURNING c.change
        )
        SELECT count(*)::integer AS count FROM removed
      `
      return removed[0]!.count
    }, refine)

    /** Accounts with expired idempotency records, those with the oldest first. */
    const findRecords = traced("RetentionRepo.findRecords")(function* (
      { idempotencyHours, rows }: Bounds,
      except: ReadonlyArray<AccountId>
    ) {
      const found = yield* sql<{ account_id: AccountId }>`
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

    const removeRecords = traced("RetentionRepo.removeRecords")(function* (
      accountId: AccountId,
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

    // Tables are walked, because an index on the count would slow down every write.
    const pageTables = traced("RetentionRepo.pageTables")(function* (after: TableKey | undefined, rows: number) {
      return yield* sql<TableKey & { readonly idle: boolean }>`
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
      `
    }, refine)

    /** Removes an account's tables that have neither rows nor versions. */
    const removeTables = traced("RetentionRepo.removeTables")(function* (
      accountId: AccountId,
      revision: number,
      rows: number
    ) {
      const removed = yield* sql<{ count: number }>`
        WITH victims AS (
          SELECT t.name
          FROM tables t
          WHERE t.account_id = ${accountId} AND t.rows = 0
            AND NOT EXISTS (SELECT FROM versions v WHERE v.account_id = ${accountId} AND v.table_name = t.name)
          LIMIT ${rows}
        ), account AS (
          UPDATE accounts
          SET revision = revision + 1
          WHERE account_id = ${accountId} AND revision = ${bigint(revision)} AND EXISTS (SELECT FROM victims)
          RETURNING account_id
        ), removed AS (
          DELETE FROM tables t
          USING account a, victims x
          WHERE t.account_id = ${accountId} AND t.name = x.name AND t.rows = 0
          RETURNING t.name
        )
        SELECT count(*)::integer AS count FROM removed
      `
      return removed[0]!.count
    }, refine)

    // Buckets are walked, because an index on tat would be written by every request.
    const pageBuckets = traced("RetentionRepo.pageBuckets")(function* (after: BucketKey | undefined, rows: number) {
      return yield* sql<BucketKey & { readonly idle: boolean }>`
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
      `
    }, refine)

    // A locked bucket is in use, so not idle. Waiting for it with other buckets locked could be a deadlock.
    const removeBuckets = traced("RetentionRepo.removeBuckets")(function* (keys: ReadonlyArray<BucketKey>) {
      const removed = yield* sql<{ count: number }>`
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
      `
      return removed[0]!.count
    }, refine)

    const lockAccount = makeLockAccount(sql)

    return {
      tryLock,
      /** Locks the account against other changes until the transaction ends. Returns its revision. */
      lockAccount: (accountId: AccountId) => refine(lockAccount(accountId)),
      findVersions,
      removeVersions,
      findChanges,
      removeChanges,
      findRecords,
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
