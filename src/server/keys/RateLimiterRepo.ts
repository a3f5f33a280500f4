import { Context, Effect, Layer, type Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountId } from "../../domain/Account.ts"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { refine } from "../sql/SqlFailure.ts"

const Class = Schema.Literals(["read", "write"])

/** A bucket of `burst` tokens that gains one every `interval` microseconds. */
const Pace = { burst: Schema.Int, interval: Schema.Int }

const KeyRequest = Schema.Struct({ accountId: AccountId, hash: Schema.Uint8Array })
const AdmitRequest = Schema.Struct({ ...KeyRequest.fields, class: Class, ...Pace })
const SpendRequest = Schema.Struct({ accountId: AccountId, id: Schema.String, class: Class, ...Pace })
const BucketRequest = Schema.Struct({ accountId: AccountId, id: Schema.String })

const FoundKey = Schema.Struct({ id: KeyId, name: Schema.String, now: Schema.Date })

/** `ahead`: how many seconds it takes until the bucket is full again. */
const Verdict = Schema.Struct({ allowed: Schema.Boolean, ahead: Schema.Finite, now: Schema.Date })

const Admitted = Schema.Struct({ ...FoundKey.fields, ...Verdict.fields })
const Bucket = Schema.Struct({ class: Class, ahead: Schema.Finite })

/** The statements that let a request in: on `api_keys` and on the unlogged `key_buckets`. */
export class RateLimiterRepo extends Context.Service<
  RateLimiterRepo,
  {
    readonly findKey: (
      request: typeof KeyRequest.Type
    ) => Effect.Effect<Option.Option<typeof FoundKey.Type>, Unavailable>
    /** Finds the key and takes a token of its bucket, in one statement. */
    readonly admit: (
      request: typeof AdmitRequest.Type
    ) => Effect.Effect<Option.Option<typeof Admitted.Type>, Unavailable>
    /** Takes a token of a bucket whose owner was authenticated otherwise. */
    readonly spend: (request: typeof SpendRequest.Type) => Effect.Effect<typeof Verdict.Type, Unavailable>
    readonly buckets: (
      request: typeof BucketRequest.Type
    ) => Effect.Effect<ReadonlyArray<typeof Bucket.Type>, Unavailable>
    readonly now: Effect.Effect<Date, Unavailable>
  }
>()("agent-memory/server/keys/RateLimiterRepo") {
  static readonly layer = Layer.effect(
    RateLimiterRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      // Written once a minute and key at most: as api_keys is logged, only that request waits for the disk.
      const findKey = SqlSchema.findOneOption({
        Request: KeyRequest,
        Result: FoundKey,
        execute: ({ accountId, hash }) => sql`
          WITH found AS (
            SELECT key_id, name, last_used_at, memory_now() AS now,
                   set_config('lock_timeout', ${lockPatience}, true) AS patience
            FROM api_keys
            WHERE account_id = ${accountId} AND hash = ${hash} AND revoked_at IS NULL
          ), used AS (
            UPDATE api_keys
            SET last_used_at = found.now
            FROM found
            WHERE api_keys.account_id = ${accountId} AND api_keys.key_id = found.key_id
              AND (found.last_used_at IS NULL OR found.last_used_at < found.now - interval '59 seconds')
              AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < found.now - interval '59 seconds')
          )
          SELECT key_id AS id, name, now FROM found
        `
      })

      // The generic cell rate algorithm: tat is when the bucket will be full again. The row's lock orders requests, so
      // the clock is read behind it. RETURNING can't see the old row, so the verdict is stored. A refusal keeps tat.
      const admit = SqlSchema.findOneOption({
        Request: AdmitRequest,
        Result: Admitted,
        execute: (request) => sql`
          WITH pace AS (
            SELECT ${request.interval}::float8 * interval '1 microsecond' AS step,
                   ${request.interval * request.burst}::float8 * interval '1 microsecond' AS span,
                   set_config('lock_timeout', ${lockPatience}, true) AS patience
          ), found AS (
            SELECT key_id, name, last_used_at
            FROM api_keys
            WHERE account_id = ${request.accountId} AND hash = ${request.hash} AND revoked_at IS NULL
          ), bucket AS (
            INSERT INTO key_buckets AS b (account_id, key_id, class, tat, allowed)
            SELECT ${request.accountId}, found.key_id, ${request.class}, memory_now() + pace.step, true
            FROM found, pace
            ON CONFLICT (account_id, key_id, class) DO UPDATE SET (tat, allowed) = (
              SELECT CASE WHEN next.tat <= next.now + pace.span THEN next.tat ELSE b.tat END,
                     next.tat <= next.now + pace.span
              FROM pace, (
                SELECT clock.now, greatest(b.tat, clock.now) + pace.step AS tat
                FROM pace, (SELECT memory_now() AS now OFFSET 0) AS clock
                OFFSET 0
              ) AS next
            )
            RETURNING b.tat, b.allowed, memory_now() AS now
          ), used AS (
            UPDATE api_keys
            SET last_used_at = bucket.now
            FROM found, bucket
            WHERE api_keys.account_id = ${request.accountId} AND api_keys.key_id = found.key_id
              AND (found.last_used_at IS NULL OR found.last_used_at < bucket.now - interval '59 seconds')
              AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < bucket.now - interval '59 seconds')
          )
          SELECT found.key_id AS id, found.name, bucket.now, bucket.allowed,
                 greatest(0, extract(epoch FROM bucket.tat - bucket.now))::float8 AS ahead
          FROM found, bucket
        `
      })

      const spend = SqlSchema.findOne({
        Request: SpendRequest,
        Result: Verdict,
        execute: (request) => sql`
          WITH pace AS (
            SELECT ${request.interval}::float8 * interval '1 microsecond' AS step,
                   ${request.interval * request.burst}::float8 * interval '1 microsecond' AS span,
                   set_config('lock_timeout', ${lockPatience}, true) AS patience
          )
          INSERT INTO key_buckets AS b (account_id, key_id, class, tat, allowed)
          SELECT ${request.accountId}, ${request.id}, ${request.class}, memory_now() + pace.step, true
          FROM pace
          ON CONFLICT (account_id, key_id, class) DO UPDATE SET (tat, allowed) = (
            SELECT CASE WHEN next.tat <= next.now + pace.span THEN next.tat ELSE b.tat END,
                   next.tat <= next.now + pace.span
            FROM pace, (
              SELECT clock.now, greatest(b.tat, clock.now) + pace.step AS tat
              FROM pace, (SELECT memory_now() AS now OFFSET 0) AS clock
              OFFSET 0
            ) AS next
          )
          RETURNING b.allowed, memory_now() AS now,
                    greatest(0, extract(epoch FROM b.tat - memory_now()))::float8 AS ahead
        `
      })

      const buckets = SqlSchema.findAll({
        Request: BucketRequest,
        Result: Bucket,
        execute: ({ accountId, id }) => sql`
          SELECT class, greatest(0, extract(epoch FROM tat - memory_now()))::float8 AS ahead
          FROM key_buckets
          WHERE account_id = ${accountId} AND key_id = ${id}
        `
      })

      const now = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ now: Schema.Date }),
        execute: () => sql`SELECT memory_now() AS now`
      })

      return RateLimiterRepo.of({
        findKey: (request) => refine(findKey(request)),
        admit: (request) => refine(admit(request)),
        spend: (request) => refine(spend(request)),
        buckets: (request) => refine(buckets(request)),
        now: refine(Effect.map(now(), (row) => row.now))
      })
    })
  )
}
