import { Context, Effect, Layer, Option } from "effect"
import { Digest, SecureRandom } from "effect/crypto"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { accountRefusal, type Reach } from "../../domain/Actor.ts"
import * as Key from "../../domain/Key.ts"
import { maxQueryLimit } from "../../domain/Limits.ts"
import { KeyLimit, RateLimited } from "../../domain/Problem.ts"
import type { TimedPlace } from "../../domain/Row.ts"
import { Settings } from "../config/Settings.ts"
import { accountGone, makeLockAccount, makePrune, withoutNul } from "../sql/SharedSql.ts"
import { refine, transact } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"

interface KeyRow extends Omit<Key.ApiKey, "created_at" | "revoked_at" | "last_used_at"> {
  readonly created_at: Date
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
}

const keyOf = (row: KeyRow): Key.ApiKey => ({
  ...row,
  created_at: row.created_at.toISOString(),
  revoked_at: row.revoked_at?.toISOString() ?? null,
  last_used_at: row.last_used_at?.toISOString() ?? null
})

/**
 * An account's API keys. Their text is shown once; only its SHA-256 is stored. A key gives full access, so only an actor with
 * full access creates or revokes one.
 */
export class Keys extends Context.Service<Keys>()("agent-memory/server/keys/Keys", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const random = yield* SecureRandom.SecureRandom
    const digest = yield* Digest.Digest
    const { limits } = yield* Settings
    const lockAccount = makeLockAccount(sql)

    /** A page of the account's keys, the oldest first, revoked ones included. */
    const list = traced("Keys.list")(function* (
      { accountId }: Reach,
      { after, limit = maxQueryLimit }: { readonly limit?: number; readonly after?: TimedPlace | undefined } = {}
    ) {
      const createdAt = after?.at ?? 0
      const found = yield* sql<KeyRow>`
        SELECT key_id AS id, account_id, name, prefix, '*' AS scope, revoked_at, created_at, last_used_at
        FROM api_keys
        WHERE account_id = ${accountId}
          AND (created_at, key_id)
            > (timestamptz 'epoch' + ${createdAt}::float8 * interval '1 millisecond', ${after?.id ?? ""})
        ORDER BY created_at, key_id
        LIMIT ${limit}
      `
      return found.map(keyOf)
    }, refine)

    const countActive = traced("Keys.countActive")(function* (accountId: AccountId) {
      const found = yield* sql<{ active: number }>`
        SELECT count(*)::int AS active FROM api_keys WHERE account_id = ${accountId} AND revoked_at IS NULL
      `
      return found[0]!.active
    }, refine)

    // In seconds, until the newest key but `most - 1` is an hour old; then fewer than `most` keys are of the last hour.
    const waitFor = traced("Keys.waitFor")(function* (accountId: AccountId, most: number) {
      const found = yield* sql<{ seconds: number }>`
        SELECT ceil(extract(epoch FROM created_at + interval '1 hour' - memory_now()))::int AS seconds
        FROM api_keys
        WHERE account_id = ${accountId} AND created_at > (SELECT memory_now() - interval '1 hour')
        ORDER BY created_at DESC
        OFFSET ${most - 1}
        LIMIT 1
      `
      return Option.map(Option.fromUndefinedOr(found[0]), ({ seconds }) => Math.max(1, seconds))
    }, refine)

    /** {@link create} without its limits: a sign-in is never refused for keys created earlier. */
    const issue = traced("Keys.issue")(function* (accountId: AccountId, name: string) {
      const text = Key.make(accountId, yield* random.randomBytes(Key.secretBytes))
      const hash = yield* digest.digest(Digest.sha256, new TextEncoder().encode(text))
      const inserted = yield* refine(sql<KeyRow>`
        INSERT INTO api_keys (account_id, key_id, name, prefix, hash, created_at)
        VALUES (${accountId}, ${yield* random.uuidV4()}, ${name}, ${Key.prefix(text)}, ${hash}, memory_now())
        RETURNING key_id AS id, account_id, name, prefix, '*' AS scope, revoked_at, created_at, last_used_at
      `)
      const created: Key.CreatedApiKey = { ...keyOf(inserted[0]!), api_key: text }
      return created
    })

    const create = traced("Keys.create")(function* (actor: Reach, name: string) {
      const refusal = accountRefusal(actor)
      if (refusal !== undefined) return yield* refusal
      const { accountId } = actor
      if ((yield* refine(lockAccount(accountId))) === undefined) return yield* accountGone()
      const active = yield* countActive(accountId)
      if (active >= limits.activeKeys) {
        return yield* new KeyLimit({
          detail: `The account has ${active} active keys. At most ${limits.activeKeys} are allowed.`,
          limit: limits.activeKeys,
          current: active
        })
      }
      const wait = yield* waitFor(accountId, limits.keysPerHour)
      if (Option.isSome(wait)) {
        return yield* new RateLimited({
          detail: `The account has created ${limits.keysPerHour} keys in the last hour, which is the limit.`,
          hint: "Wait `retry_after` seconds. An application needs one key for as long as it runs.",
          limit: limits.keysPerHour,
          retry_after: wait.value
        })
      }
      return yield* issue(accountId, name)
    }, transact(sql))

    const revokeKey = traced("Keys.revokeKey")(function* (accountId: AccountId, id: string) {
      // PostgreSQL's text has no NUL, so that no key has such an id.
      const revoked = yield* sql`
        UPDATE api_keys
        SET revoked_at = memory_now()
        WHERE account_id = ${accountId} AND key_id = ${withoutNul(id)} AND revoked_at IS NULL
        RETURNING key_id
      `
      return revoked.length
    }, refine)

    /** Returns how many keys were revoked: 0 for an id that is unknown or revoked already. */
    const revoke = traced("Keys.revoke")(function* (actor: Reach, id: string) {
      const refusal = accountRefusal(actor)
      if (refusal !== undefined) return yield* refusal
      return yield* revokeKey(actor.accountId, id)
    })

    const prune = makePrune(sql, "Keys", {
      table: "api_keys",
      key: "account_id, key_id",
      due: sql`revoked_at <= (SELECT memory_now() - make_interval(days => ${limits.revokedKeyDays}::integer))`,
      oldest: "revoked_at"
    })

    return { list, create, issue, revoke, prune }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
