import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../domain/Account.ts"
import type { KeyId } from "../domain/Key.ts"

const kept = ["migrations", "accounts", "account_emails", "api_keys"]

/**
 * Empties the database but for one account and its key, which are as new. The account's revision grows, so that the
 * service does not go on with what it remembers of it.
 */
export const resetDatabase = Effect.fnUntraced(function* (accountId: AccountId, keyId: KeyId) {
  const sql = yield* SqlClient.SqlClient
  const tables = yield* sql<{ readonly name: string }>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() AND NOT tablename IN ${sql.in(kept)}
  `
  // For few rows this is many times faster than TRUNCATE, which makes new files.
  for (const { name } of tables) yield* sql`DELETE FROM ${sql(name)}`
  yield* sql`DELETE FROM account_emails WHERE account_id <> ${accountId}`
  yield* sql`DELETE FROM api_keys WHERE key_id <> ${keyId}`
  yield* sql`DELETE FROM accounts WHERE account_id <> ${accountId}`
  yield* sql`UPDATE api_keys SET revoked_at = NULL, last_used_at = NULL WHERE account_id = ${accountId}`
  yield* sql`
    UPDATE accounts
    SET revision = revision + 1, next_seq = 1, storage_bytes = 0, version_bytes = 0, idempotency_bytes = 0
    WHERE account_id = ${accountId}
  `
})
