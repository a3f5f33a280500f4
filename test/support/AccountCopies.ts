import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { accountTables } from "./Statements.ts"

/** The tables of an account that its copy shares, those before that others refer to; secrets are nobody else's. */
const copied = ["accounts", "connections", "tables", "rows", "versions", "changes", "idempotency_records", "links"]

/** Copies an account with all that it holds, ids and times too, except for its secrets. */
export const copyAccount = Effect.fnUntraced(function* (from: string, to: string) {
  const sql = yield* SqlClient.SqlClient
  const copies = copied.map(
    (name) => `
      INSERT INTO ${name}
      SELECT (jsonb_populate_record(t, to_jsonb(t) || '{"account_id":"${to}"}')).*
      FROM ${name} t
      WHERE account_id = '${from}';`
  )
  yield* sql.unsafe(`DO $$BEGIN ${copies.join("")} END$$`)
})

const known = new WeakMap<SqlClient.SqlClient, ReadonlyArray<string>>()

/** The tables do not change meanwhile, and to ask for them takes longer than to read them. */
const tablesOf = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const names = known.get(sql) ?? (yield* accountTables)
  known.set(sql, names)
  return names
})

/** All that the database holds of an account, a text for each row; when something was last used does not count. */
export const dumpOf = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const names = (yield* tablesOf(sql)).filter((name) => name !== "key_buckets")
  const rows = names.map(
    (name) => `SELECT '${name} ' || (to_jsonb(t) - 'last_used_at')::text AS text FROM ${name} t WHERE account_id = $1`
  )
  const found = yield* sql.unsafe<{ text: string }>(`${rows.join(" UNION ALL ")} ORDER BY 1`, [accountId])
  return found.map(({ text }) => text)
})

/** {@link dumpOf}, once the writes of the account that were begun are over. */
export const settledDumpOf = Effect.fnUntraced(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`SELECT account_id FROM accounts WHERE account_id = ${accountId} FOR UPDATE`
  return yield* dumpOf(accountId)
})

const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[\d.:+Z]*/g
const hashes = /\\\\x[0-9a-f]{64}/g

/** A dump or an answer without the ids, times, hashes and names of accounts that differ between two equal ones. */
export const alike = (text: string, accountId: string): string =>
  text
    .replaceAll(/\b[a-z2-7]{20}_[\w-]{43}(?![\w-])/g, "token")
    .replaceAll(accountId, "account")
    .replaceAll(ids, "id")
    .replaceAll(times, "time")
    .replaceAll(hashes, "hash")
    .replaceAll(/svc_live_account_\w+/g, "key")

/** A whole dump, comparable with that of another account. */
export const alikeDump = (dump: ReadonlyArray<string>, accountId: string): ReadonlyArray<string> =>
  dump.map((row) => alike(row, accountId)).toSorted()
