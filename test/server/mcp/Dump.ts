import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** All that is stored of an account, links and limits aside. */
export const dump = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  return JSON.stringify([
    yield* sql`SELECT to_jsonb(a) - 'last_used_at' AS it FROM accounts a WHERE account_id = ${accountId}`,
    yield* sql`SELECT to_jsonb(t) AS it FROM tables t WHERE account_id = ${accountId} ORDER BY name`,
    yield* sql`SELECT to_jsonb(r) AS it FROM rows r WHERE account_id = ${accountId} ORDER BY id`,
    yield* sql`SELECT to_jsonb(v) AS it FROM versions v WHERE account_id = ${accountId} ORDER BY row_id, version`,
    yield* sql`SELECT to_jsonb(i) AS it FROM idempotency_records i WHERE account_id = ${accountId} ORDER BY scope, key`
  ])
})
