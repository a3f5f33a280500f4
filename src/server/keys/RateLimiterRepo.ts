import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountId } from "../../domain/Account.ts"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { notingUse, tellDiskFull, type DiskFull } from "../sql/DiskFull.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { Ahead, RequestClass, Verdict } from "./Admission.ts"

const Class = Schema.Literals(["read", "write"])
const Pace = Schema.Struct({ burst: Schema.Int, interval: Schema.Int })
const Paces = Schema.Struct({ own: Pace, account: Pace })

const KeyRequest = Schema.Struct({ accountId: AccountId, hash: Schema.Uint8Array })
const FindRequest = Schema.Struct({ ...KeyRequest.fields, notesUse: Schema.Boolean })
const AdmitRequest = Schema.Struct({ ...KeyRequest.fields, class: Class, paces: Paces })
const SpendRequest = Schema.Struct({ accountId: AccountId, id: Schema.String, class: Class, paces: Paces })
const BucketRequest = Schema.Struct({ accountId: AccountId, id: Schema.String })

const FoundKey = Schema.Struct({ id: KeyId, name: Schema.String, now: Schema.Date })

const verdictColumns = {
  allowed: Schema.Boolean,
  now: Schema.Date,
  ahead: Schema.Finite,
  account_ahead: Schema.Finite
}
const TakenRow = Schema.Struct(verdictColumns)
const AdmittedRow = Schema.Struct({ id: KeyId, name: Schema.String, ...verdictColumns })
const BucketRow = Schema.Struct({ key_id: Schema.String, class: Class, ahead: Schema.Finite })

const verdictOf = ({ account_ahead, ahead, allowed, now }: typeof TakenRow.Type): Verdict => ({
  allowed,
  ahead: { own: ahead, account: account_ahead },
  now
})

/** A key that was found, and whether its request is let in. */
interface AdmittedKey extends Verdict {
  readonly id: KeyId
  readonly name: string
}

/** The statements that let a request in: on `api_keys` and on the unlogged `key_buckets`. */
export class RateLimiterRepo extends Context.Service<
  RateLimiterRepo,
  {
    readonly findKey: (
      request: typeof KeyRequest.Type
    ) => Effect.Effect<Option.Option<typeof FoundKey.Type>, Unavailable>
    /** Finds the key and takes a token from its bucket and its account's, in one statement. `DiskFull` is for reads. */
    readonly admit: (
      request: typeof AdmitRequest.Type
    ) => Effect.Effect<Option.Option<AdmittedKey>, DiskFull | Unavailable>
    /** Takes a token from both buckets of what was authenticated otherwise. `DiskFull` is for reads. */
    readonly spend: (request: typeof SpendRequest.Type) => Effect.Effect<Verdict, DiskFull | Unavailable>
    readonly ahead: (request: typeof BucketRequest.Type) => Effect.Effect<Ahead, Unavailable>
    readonly now: Effect.Effect<Date, Unavailable>
  }
>()("agent-memory/server/keys/RateLimiterRepo") {
  static readonly layer = Layer.effect(
    RateLimiterRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      // Written once a minute and key at most: as api_keys is logged, only that request waits for the disk.
      const findKey = SqlSchema.findOneOption({
        Request: FindRequest,
        Result: FoundKey,
        execute: ({ accountId, hash, notesUse }) => sql`
          WITH found AS (
            SELECT key_id, name, last_used_at, memory_now() AS now,
                   set_config('lock_timeout', ${lockPatience}, true) AS patience
            FROM api_keys
            WHERE account_id = ${accountId} AND hash = ${hash} AND revoked_at IS NULL
          ), used AS (
            UPDATE api_keys
            SET last_used_at = found.now
            FROM found
            WHERE ${notesUse}::boolean
              AND api_keys.account_id = ${accountId} AND api_keys.key_id = found.key_id
              AND (found.last_used_at IS NULL OR found.last_used_at < found.now - interval '59 seconds')
              AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < found.now - interval '59 seconds')
          )
          SELECT key_id AS id, name, now FROM found
        `
      })

      // As the account's bucket is locked until the statement ends, that doesn't wait for the disk: a last_used_at that is
      // lost in a crash was right to the minute before.
      const admit = SqlSchema.findOneOption({
        Request: AdmitRequest,
        Result: AdmittedRow,
        execute: ({ accountId, class: wanted, hash, paces: { account, own } }) => sql`
          WITH pace AS (
            SELECT ${own.interval}::float8 * interval '1 microsecond' AS step,
                   ${own.interval * own.burst}::float8 * interval '1 microsecond' AS span,
                   ${account.interval}::float8 * interval '1 microsecond' AS account_step,
                   ${account.interval * account.burst}::float8 * interval '1 microsecond' AS account_span,
                   set_config('lock_timeout', ${lockPatience}, true) AS patience,
                   set_config('synchronous_commit', 'off', true) AS haste
          ), found AS (
            SELECT key_id, name, last_used_at
            FROM api_keys
            WHERE account_id = ${accountId} AND hash = ${hash} AND revoked_at IS NULL
          ), taken AS (
            SELECT found.key_id, t.allowed, t.now, t.ahead, t.account_ahead
            FROM pace, found, take_token(
              ${accountId}, found.key_id, ${wanted}, pace.step, pace.span, pace.account_step, pace.account_span
            ) AS t
          ), used AS (
            UPDATE api_keys
            SET last_used_at = taken.now
            FROM found, taken
            WHERE api_keys.account_id = ${accountId} AND api_keys.key_id = found.key_id
              AND (found.last_used_at IS NULL OR found.last_used_at < taken.now - interval '59 seconds')
              AND (api_keys.last_used_at IS NULL OR api_keys.last_used_at < taken.now - interval '59 seconds')
          )
          SELECT found.key_id AS id, found.name, taken.allowed, taken.now, taken.ahead, taken.account_ahead
          FROM found, taken
        `
      })

      const spend = SqlSchema.findOne({
        Request: SpendRequest,
        Result: TakenRow,
        execute: ({ accountId, class: wanted, id, paces: { account, own } }) => sql`
          WITH pace AS (
            SELECT ${own.interval}::float8 * interval '1 microsecond' AS step,
                   ${own.interval * own.burst}::float8 * interval '1 microsecond' AS span,
                   ${account.interval}::float8 * interval '1 microsecond' AS account_step,
                   ${account.interval * account.burst}::float8 * interval '1 microsecond' AS account_span,
                   set_config('lock_timeout', ${lockPatience}, true) AS patience
          )
          SELECT t.allowed, t.now, t.ahead, t.account_ahead
          FROM pace, take_token(
            ${accountId}, ${id}, ${wanted}, pace.step, pace.span, pace.account_step, pace.account_span
          ) AS t
        `
      })

      const buckets = SqlSchema.findAll({
        Request: BucketRequest,
        Result: BucketRow,
        execute: ({ accountId, id }) => sql`
          SELECT key_id, class, greatest(0, extract(epoch FROM tat - memory_now()))::float8 AS ahead
          FROM key_buckets
          WHERE account_id = ${accountId} AND key_id IN ('', ${id})
        `
      })

      const now = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ now: Schema.Date }),
        execute: () => sql`SELECT memory_now() AS now`
      })

      // A write has no use for its token where nothing can be stored.
      const toldForReads = <A, E>(wanted: RequestClass, statement: Effect.Effect<A, E>) =>
        refine(wanted === "read" ? tellDiskFull(statement) : statement)

      return RateLimiterRepo.of({
        findKey: (request) => refine(notingUse((notesUse) => findKey({ ...request, notesUse }))),
        admit: (request) =>
          Effect.map(
            toldForReads(request.class, admit(request)),
            Option.map((row) => ({ id: row.id, name: row.name, ...verdictOf(row) }))
          ),
        spend: (request) => Effect.map(toldForReads(request.class, spend(request)), verdictOf),
        ahead: (request) =>
          refine(
            Effect.map(buckets(request), (rows) => {
              const of = (owner: string, wanted: RequestClass) =>
                rows.find((row) => row.key_id === owner && row.class === wanted)?.ahead ?? 0
              const both = (wanted: RequestClass) => ({ own: of(request.id, wanted), account: of("", wanted) })
              return { write: both("write"), read: both("read") }
            })
          ),
        now: refine(Effect.map(now(), (row) => row.now))
      })
    })
  )
}
