import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId, Email } from "../../domain/Account.ts"
import { accountRefusal, type Reach } from "../../domain/Actor.ts"
import { invalid } from "../../domain/Problem.ts"
import { accountGone, makeLockAccount, texts } from "../sql/SharedSql.ts"
import { refine, transact } from "../sql/SqlFailure.ts"
import { TableCache } from "../tables/engine/cache/TableCache.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Accounts } from "./Accounts.ts"
import { Notices } from "./Notices.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** How many items one statement removes. */
const batchSize = 1000

/** How many accounts one look for interrupted deletions finds. */
const accountsAtOnce = 100

/**
 * Deletes accounts with all that they hold. First the account is closed, in one transaction with all that gives access to it,
 * so that from then on nothing of it can be read or written. Then its rows are removed in batches, and the account itself
 * last. A deletion that was interrupted is ended by the service's background work.
 */
export class AccountDeletion extends Context.Service<AccountDeletion>()(
  "agent-memory/server/accounts/AccountDeletion",
  {
    make: Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const accounts = yield* Accounts
      const throttle = yield* SignInThrottle
      const notices = yield* Notices
      const cache = yield* TableCache
      const lockAccount = makeLockAccount(sql)

      const removeAccess = traced("AccountDeletion.removeAccess")(function* (accountId: AccountId) {
        yield* sql`
        WITH addresses AS (
          DELETE FROM account_emails WHERE account_id = ${accountId}
        ), keys AS (
          DELETE FROM api_keys WHERE account_id = ${accountId}
        ), buckets AS (
          DELETE FROM key_buckets WHERE account_id = ${accountId}
        ), sessions AS (
          DELETE FROM browser_sessions WHERE account_id = ${accountId}
        ), codes AS (
          DELETE FROM oauth_codes WHERE account_id = ${accountId}
        ), tokens AS (
          DELETE FROM oauth_tokens WHERE account_id = ${accountId}
        ), grants AS (
          DELETE FROM connections WHERE account_id = ${accountId}
        )
        DELETE FROM links WHERE account_id = ${accountId}
      `
      }, refine)

      const close = traced("AccountDeletion.close")(function* (accountId: AccountId, email: Email) {
        if ((yield* lockAccount(accountId)) === undefined) return yield* accountGone()
        const owner = yield* accounts.findEmail(accountId)
        if (Option.getOrUndefined(owner) !== email) {
          return yield* invalid("/email", "must be the e-mail address of this account, which confirms its deletion")
        }
        // The revision grows, so that no write commits that was computed before.
        yield* sql`
          UPDATE accounts SET closed_at = memory_now(), revision = revision + 1 WHERE account_id = ${accountId}
        `
        yield* removeAccess(accountId)
        yield* sql`DELETE FROM magic_links WHERE email = ${email}`
        yield* throttle.forget(email, accountId)
      }, transact(sql))

      // Many rows at once would hold a connection, and their locks, for long.
      const removeSome = traced("AccountDeletion.removeSome")(function* (accountId: AccountId) {
        const [left] = yield* sql<{ removed: number }>`
        WITH gone_rows AS (
          DELETE FROM rows
          WHERE account_id = ${accountId}
            AND ctid = ANY (ARRAY(SELECT ctid FROM rows WHERE account_id = ${accountId} LIMIT ${batchSize}))
          RETURNING 1
        ), gone_versions AS (
          DELETE FROM versions
          WHERE account_id = ${accountId}
            AND ctid = ANY (ARRAY(SELECT ctid FROM versions WHERE account_id = ${accountId} LIMIT ${batchSize}))
          RETURNING 1
        ), gone_records AS (
          DELETE FROM idempotency_records
          WHERE account_id = ${accountId}
            AND ctid = ANY (ARRAY(SELECT ctid FROM idempotency_records WHERE account_id = ${accountId} LIMIT ${batchSize}))
          RETURNING 1
        ), gone_changes AS (
          DELETE FROM changes
          WHERE account_id = ${accountId}
            AND ctid = ANY (ARRAY(SELECT ctid FROM changes WHERE account_id = ${accountId} LIMIT ${batchSize}))
          RETURNING 1
        ), gone_tables AS (
          DELETE FROM tables
          WHERE account_id = ${accountId}
            AND ctid = ANY (ARRAY(SELECT ctid FROM tables WHERE account_id = ${accountId} LIMIT ${batchSize}))
          RETURNING 1
        )
        SELECT ((SELECT count(*) FROM gone_rows) + (SELECT count(*) FROM gone_versions)
          + (SELECT count(*) FROM gone_records) + (SELECT count(*) FROM gone_changes)
          + (SELECT count(*) FROM gone_tables))::integer AS removed
      `
        return left!.removed
      }, refine)

      const removeAccount = traced("AccountDeletion.removeAccount")(function* (accountId: AccountId) {
        // Whoever was signing in meanwhile waits for this lock, and then finds no account.
        yield* sql`SELECT account_id FROM accounts WHERE account_id = ${accountId} FOR UPDATE`
        yield* removeAccess(accountId)
        yield* sql`DELETE FROM accounts WHERE account_id = ${accountId} AND closed_at IS NOT NULL`
      }, transact(sql))

      /** Removes all that a closed account holds. */
      const remove = traced("AccountDeletion.remove")(function* (accountId: AccountId) {
        while ((yield* removeSome(accountId)) > 0);
        yield* removeAccount(accountId)
      })

      /**
       * Deletes the actor's account, if this is its e-mail address. It is closed from then on; what it held is removed as far as
       * the database answers, and the rest by the service's background work. The address may sign up again, for an empty account.
       */
      const deleteAccount = traced("AccountDeletion.deleteAccount")(function* (actor: Reach, email: Email) {
        const refusal = accountRefusal(actor)
        if (refusal !== undefined) return yield* refusal
        const { accountId } = actor
        // Whoever sent the request can keep neither the closing nor the mail about it from happening.
        const closing = Effect.gen(function* () {
          yield* close(accountId, email)
          cache.forget(accountId)
          yield* Effect.catchCause(notices.accountDeleted(email), (cause) =>
            Effect.logWarning("The deletion of an account was not mailed", cause)
          )
        })
        yield* Effect.uninterruptible(closing)
        yield* Effect.catchCause(remove(accountId), (cause) =>
          Effect.logWarning("An account is deleted, and what it held is not removed yet", cause)
        )
      })

      /** Ends deletions that were interrupted, and gives their number. */
      const resume = Effect.gen(function* () {
        const found = yield* refine(sql<{ account_id: AccountId }>`
        SELECT account_id FROM accounts
        WHERE closed_at <= (SELECT memory_now() - interval '1 minute')
        ORDER BY account_id
        LIMIT ${accountsAtOnce}
      `)
        yield* Effect.forEach(found, ({ account_id }) => remove(account_id), { discard: true })
        return found.length
      }).pipe(Effect.withSpan("AccountDeletion.resume"))

      /** Drops the tables in memory of accounts that another instance has deleted. */
      const forgetGone = Effect.gen(function* () {
        const known = cache.accounts()
        if (known.length === 0) return
        const found = yield* refine(sql<{ account_id: AccountId }>`
        SELECT account_id FROM accounts WHERE account_id = ANY (${texts(known)}::text[]) AND closed_at IS NULL
      `)
        const there = new Set(found.map(({ account_id }) => account_id))
        for (const accountId of known) if (!there.has(accountId)) cache.forget(accountId)
      }).pipe(Effect.withSpan("AccountDeletion.forgetGone"))

      return { deleteAccount, resume, forgetGone }
    })
  }
) {
  static readonly layer = Layer.effect(this, this.make)
}
