import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { bigint, texts } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"

/** The place of a bucket among all. */
export interface BucketPlace {
  readonly accountId: string
  readonly keyId: string
  readonly class: string
}

/** The place of a table among all. */
export interface TablePlace {
  readonly accountId: string
  readonly name: string
}

/** Some neighbours in the order of their primary key, and those of them that can go. */
export interface Page<Place> {
  readonly places: ReadonlyArray<Place>
  readonly idle: ReadonlyArray<Place>
}

/** The SQL that walks over all tables and buckets, a page at a time, and removes those that nobody needs. */
export class IdleRepo extends Context.Service<
  IdleRepo,
  {
    readonly pageTables: (after: TablePlace | undefined, rows: number) => Effect.Effect<Page<TablePlace>, Unavailable>
    /** Removes tables without rows and versions; like every change of an account, on its locked revision. */
    readonly removeTables: (accountId: string, revision: number, rows: number) => Effect.Effect<number, Unavailable>
    readonly pageBuckets: (
      after: BucketPlace | undefined,
      rows: number
    ) => Effect.Effect<Page<BucketPlace>, Unavailable>
    readonly removeBuckets: (places: ReadonlyArray<BucketPlace>) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/retention/IdleRepo") {
  static readonly layer = Layer.effect(
    IdleRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      // An index on the count would make every write's update of it dearer, so the tables are walked instead.
      const pageTables = Effect.fn("IdleRepo.pageTables")(function* (after: TablePlace | undefined, rows: number) {
        const found = yield* sql<TablePlace & { idle: boolean }>`
          SELECT t.account_id AS "accountId", t.name,
            t.rows = 0 AND NOT EXISTS (
              SELECT FROM versions v WHERE v.account_id = t.account_id AND v.table_name = t.name
            ) AS idle
          FROM tables t
          WHERE (t.account_id, t.name) > (${after?.accountId ?? ""}, ${after?.name ?? ""})
          ORDER BY t.account_id, t.name
          LIMIT ${rows}
        `
        return { places: found, idle: found.filter((one) => one.idle) }
      }, refine)

      const removeTables = Effect.fn("IdleRepo.removeTables")(function* (
        accountId: string,
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

      // Walked like the tables: an index on tat would be written with every request.
      const pageBuckets = Effect.fn("IdleRepo.pageBuckets")(function* (after: BucketPlace | undefined, rows: number) {
        const found = yield* sql<BucketPlace & { idle: boolean }>`
          SELECT b.account_id AS "accountId", b.key_id AS "keyId", b.class,
            b.tat <= (SELECT memory_now() - interval '1 hour') OR k.revoked_at IS NOT NULL AS idle
          FROM key_buckets b
          LEFT JOIN api_keys k ON k.account_id = b.account_id AND k.key_id = b.key_id
          WHERE (b.account_id, b.key_id, b.class)
            > (${after?.accountId ?? ""}, ${after?.keyId ?? ""}, ${after?.class ?? ""})
          ORDER BY b.account_id, b.key_id, b.class
          LIMIT ${rows}
        `
        return { places: found, idle: found.filter((one) => one.idle) }
      }, refine)

      // A bucket that is spent of meanwhile is waited for, and then no longer idle.
      const removeBuckets = Effect.fn("IdleRepo.removeBuckets")(function* (places: ReadonlyArray<BucketPlace>) {
        const removed = yield* sql<{ count: number }>`
          WITH removed AS (
            DELETE FROM key_buckets b
            USING unnest(
              ${texts(places.map((place) => place.accountId))}::text[],
              ${texts(places.map((place) => place.keyId))}::text[],
              ${texts(places.map((place) => place.class))}::text[]
            ) AS x (account_id, key_id, class)
            WHERE b.account_id = x.account_id AND b.key_id = x.key_id AND b.class = x.class
              AND (
                b.tat <= memory_now() - interval '1 hour'
                OR EXISTS (
                  SELECT FROM api_keys k
                  WHERE k.account_id = b.account_id AND k.key_id = b.key_id AND k.revoked_at IS NOT NULL
                )
              )
            RETURNING b.key_id
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return IdleRepo.of({ pageTables, removeTables, pageBuckets, removeBuckets })
    })
  )
}
