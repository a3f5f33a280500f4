import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountId } from "../../domain/Account.ts"
import { ApiKey, KeyId } from "../../domain/Key.ts"
import type { KeyPlace } from "../../domain/KeyCursor.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { TimestampColumn } from "../sql/Columns.ts"
import { makeLockAccount } from "../sql/LockAccount.ts"
import { refine } from "../sql/SqlFailure.ts"

const KeyRow = Schema.Struct({
  ...ApiKey.fields,
  revoked_at: Schema.NullOr(TimestampColumn),
  created_at: TimestampColumn,
  last_used_at: Schema.NullOr(TimestampColumn)
})

const NewKey = Schema.Struct({
  accountId: AccountId,
  id: KeyId,
  name: Schema.String,
  prefix: Schema.String,
  hash: Schema.Uint8Array
})
type NewKey = typeof NewKey.Type

const OfAccount = Schema.Struct({ accountId: AccountId })

/** The statements on `api_keys`. */
export class KeysRepo extends Context.Service<
  KeysRepo,
  {
    /** Some keys of the account, the oldest first, after the given place. */
    readonly list: (
      accountId: AccountId,
      after: KeyPlace | undefined,
      rows: number
    ) => Effect.Effect<ReadonlyArray<ApiKey>, Unavailable>
    /** Makes the account's other key changes wait until the transaction ends. */
    readonly lockAccount: (accountId: AccountId) => Effect.Effect<unknown, Unavailable>
    readonly countActive: (accountId: AccountId) => Effect.Effect<number, Unavailable>
    /** In how many seconds the account has made fewer than `most` keys in an hour; none if it has now. */
    readonly waitFor: (accountId: AccountId, most: number) => Effect.Effect<Option.Option<number>, Unavailable>
    readonly insert: (key: NewKey) => Effect.Effect<ApiKey, Unavailable>
    readonly revoke: (accountId: AccountId, id: string) => Effect.Effect<Option.Option<unknown>, Unavailable>
    /** Removes keys that were revoked so many days ago, at most so many; gives how many. */
    readonly prune: (days: number, rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/keys/KeysRepo") {
  static readonly layer = Layer.effect(
    KeysRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = SqlSchema.findAll({
        Request: Schema.Struct({
          accountId: AccountId,
          createdAt: Schema.Int,
          id: Schema.String,
          rows: Schema.Int
        }),
        Result: KeyRow,
        execute: ({ accountId, createdAt, id, rows }) => sql`
          SELECT key_id AS id, account_id, name, prefix, '*' AS scope, revoked_at, created_at, last_used_at
          FROM api_keys
          WHERE account_id = ${accountId} 
            AND (created_at, key_id) > (timestamptz 'epoch' + ${createdAt}::float8 * interval '1 millisecond', ${id})
          ORDER BY created_at, key_id
          LIMIT ${rows}
        `
      })

      const lockAccount = makeLockAccount(sql)

      // The keys of the last hour are those up to one at `most`: when that one is an hour old, there are fewer.
      const waitFor = SqlSchema.findOneOption({
        Request: Schema.Struct({ accountId: AccountId, earlier: Schema.Int }),
        Result: Schema.Struct({ seconds: Schema.Int }),
        execute: ({ accountId, earlier }) => sql`
          SELECT ceil(extract(epoch FROM created_at + interval '1 hour' - memory_now()))::int AS seconds
          FROM api_keys
          WHERE account_id = ${accountId} AND created_at > (SELECT memory_now() - interval '1 hour')
          ORDER BY created_at DESC
          OFFSET ${earlier}
          LIMIT 1
        `
      })

      const countActive = SqlSchema.findOne({
        Request: OfAccount,
        Result: Schema.Struct({ active: Schema.Int }),
        execute: ({ accountId }) => sql`
          SELECT count(*)::int AS active FROM api_keys WHERE account_id = ${accountId} AND revoked_at IS NULL
        `
      })

      const insert = SqlSchema.findOne({
        Request: NewKey,
        Result: KeyRow,
        execute: ({ accountId, id, name, prefix, hash }) => sql`
          INSERT INTO api_keys (account_id, key_id, name, prefix, hash, created_at)
          VALUES (${accountId}, ${id}, ${name}, ${prefix}, ${hash}, memory_now())
          RETURNING key_id AS id, account_id, name, prefix, '*' AS scope, revoked_at, created_at, last_used_at
        `
      })

      const revoke = SqlSchema.findOneOption({
        Request: Schema.Struct({ accountId: AccountId, id: Schema.String }),
        Result: Schema.Struct({ id: KeyId }),
        execute: ({ accountId, id }) => sql`
          UPDATE api_keys
          SET revoked_at = memory_now()
          WHERE account_id = ${accountId} AND key_id = ${id} AND revoked_at IS NULL
          RETURNING key_id AS id
        `
      })

      const prune = SqlSchema.findOne({
        Request: Schema.Struct({ days: Schema.Int, rows: Schema.Int }),
        Result: Schema.Struct({ count: Schema.Int }),
        execute: ({ days, rows }) => sql`
          WITH old AS (
            SELECT account_id, key_id
            FROM api_keys
            WHERE revoked_at <= (SELECT memory_now() - make_interval(days => ${days}::integer))
            ORDER BY revoked_at
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM api_keys k
            USING old o
            WHERE k.account_id = o.account_id AND k.key_id = o.key_id
            RETURNING k.key_id
          )
          SELECT count(*)::integer AS count FROM removed
        `
      })

      return KeysRepo.of({
        list: (accountId, after, rows) =>
          refine(list({ accountId, createdAt: after?.createdAt ?? 0, id: after?.id ?? "", rows })),
        lockAccount: (accountId) => refine(lockAccount(accountId)),
        waitFor: (accountId, most) =>
          refine(
            Effect.map(
              waitFor({ accountId, earlier: most - 1 }),
              Option.map(({ seconds }) => Math.max(1, seconds))
            )
          ),
        prune: (days, rows) => refine(Effect.map(prune({ days, rows }), ({ count }) => count)),
        countActive: (accountId) => refine(Effect.map(Effect.orDie(countActive({ accountId })), (row) => row.active)),
        insert: (key) => refine(insert(key)),
        // PostgreSQL's text can't hold NUL, so that no key has such an id.
        revoke: (accountId, id) => refine(revoke({ accountId, id: id.replaceAll("\0", "�") }))
      })
    })
  )
}
