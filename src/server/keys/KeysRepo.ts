import { Context, Effect, Layer, type Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountId } from "../../domain/Account.ts"
import { ApiKey, KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { TimestampColumn } from "../sql/Columns.ts"
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
    readonly list: (accountId: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>, Unavailable>
    /** Makes the account's other key changes wait until the transaction ends. */
    readonly lockAccount: (accountId: AccountId) => Effect.Effect<void, Unavailable>
    readonly countActive: (accountId: AccountId) => Effect.Effect<number, Unavailable>
    readonly insert: (key: NewKey) => Effect.Effect<ApiKey, Unavailable>
    readonly revoke: (accountId: AccountId, id: string) => Effect.Effect<Option.Option<unknown>, Unavailable>
  }
>()("agent-memory/server/keys/KeysRepo") {
  static readonly layer = Layer.effect(
    KeysRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const list = SqlSchema.findAll({
        Request: OfAccount,
        Result: KeyRow,
        execute: ({ accountId }) => sql`
          SELECT key_id AS id, account_id, name, prefix, '*' AS scope, revoked_at, created_at, last_used_at
          FROM api_keys
          WHERE account_id = ${accountId}
          ORDER BY created_at, key_id
        `
      })

      const lockAccount = SqlSchema.void({
        Request: OfAccount,
        execute: ({ accountId }) => sql`
          SELECT account_id FROM accounts WHERE account_id = ${accountId} FOR NO KEY UPDATE
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

      return KeysRepo.of({
        list: (accountId) => refine(list({ accountId })),
        lockAccount: (accountId) => refine(lockAccount({ accountId })),
        countActive: (accountId) => refine(Effect.map(Effect.orDie(countActive({ accountId })), (row) => row.active)),
        insert: (key) => refine(insert(key)),
        // PostgreSQL's text can't hold NUL, so that no key has such an id.
        revoke: (accountId, id) => refine(revoke({ accountId, id: id.replaceAll("\0", "�") }))
      })
    })
  )
}
