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
        return { places: found, idle: found.filter((one) => one.idle) }
      }, refine)

      // A bucket that is locked is just being spent of, and so not idle. To wait for it, with others locked already, could
      // be to wait in a circle.
      const removeBuckets = Effect.fn("IdleRepo.removeBuckets")(function* (places: ReadonlyArray<BucketPlace>) {
        const removed = yield* sql<{ count: number }>`
          WITH idle AS (
            SELECT b.account_id, b.key_id, b.class
            FROM unnest(
              ${texts(places.map((place) => place.accountId))}::text[],
              ${texts(places.map((place) => place.keyId))}::text[],
              ${texts(places.map((place) => place.class))}::text[]
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

      return IdleRepo.of({ pageTables, removeTables, pageBuckets, removeBuckets })
    })
  )
}
