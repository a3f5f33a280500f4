import { Effect } from "effect"
import { Migrator, SqlClient } from "effect/sql"
import { createHash, randomBytes } from "node:crypto"
import createAccounts from "../../migrations/0001_create_accounts.ts"
import createRows from "../../migrations/0002_create_rows.ts"
import createRetention from "../../migrations/0003_create_retention.ts"
import createLinks from "../../migrations/0004_create_links.ts"
import createOAuth from "../../migrations/0005_create_oauth.ts"
import {
  accessTokenPrefix,
  AccountId,
  accountIdBytes,
  accountIdFrom,
  makeToken,
  tokenBytes
} from "../../src/domain/Account.ts"
import { make, prefix, secretBytes } from "../../src/domain/Key.ts"

/** The migrations of the first release. */
export const firstMigrations = Migrator.make({})({
  loader: Migrator.fromRecord({
    "0001_create_accounts": createAccounts,
    "0002_create_rows": createRows,
    "0003_create_retention": createRetention,
    "0004_create_links": createLinks,
    "0005_create_oauth": createOAuth
  }),
  table: "migrations"
})

const sha256 = (text: string) => createHash("sha256").update(text).digest()

/** Brings an empty database to what the first release left: an account with something in every table. */
export const fillAsFirstRelease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* firstMigrations
  const accountId = AccountId.make(accountIdFrom(randomBytes(accountIdBytes)))
  const key = make(accountId, randomBytes(secretBytes))
  const token = makeToken(accountId, randomBytes(tokenBytes), accessTokenPrefix)
  const link = makeToken(accountId, randomBytes(tokenBytes))
  const rowId = "0190d0c0-0000-7000-8000-000000000001"
  yield* sql`
    INSERT INTO accounts (account_id, created_at, revision, next_seq, storage_bytes, version_bytes, idempotency_bytes)
    VALUES (${accountId}, memory_now(), 2, 2, 7, 7, 2)
  `
  yield* sql`INSERT INTO account_emails VALUES ('ada@example.com', ${accountId})`
  yield* sql`
    INSERT INTO api_keys (account_id, key_id, name, prefix, hash, created_at)
    VALUES (${accountId}, 'key', 'key', ${prefix(key)}, ${sha256(key)}, memory_now())
  `
  yield* sql`
    INSERT INTO magic_links (hash, email, created_at, expires_at)
    VALUES (${sha256("magic")}, 'ada@example.com', memory_now(), memory_now() + interval '10 minutes')
  `
  yield* sql`INSERT INTO key_buckets VALUES (${accountId}, 'key', 'write', memory_now(), true)`
  yield* sql`INSERT INTO sign_in_buckets VALUES ('ip', memory_now(), true)`
  yield* sql`INSERT INTO tables VALUES (${accountId}, 'notes', 1)`
  yield* sql`
    INSERT INTO rows (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets)
    VALUES (${accountId}, 'notes', 1, ${rowId}, memory_now(), memory_now(), 1, '{"n":2}', '{}')
  `
  yield* sql`
    INSERT INTO versions
    SELECT account_id, table_name, id, 1, seq, created_at, updated_at, '{"n":1}', 7, 'update',
      '{"kind":"key","id":"key","name":"key"}', memory_now()
    FROM rows
  `
  yield* sql`
    INSERT INTO idempotency_records VALUES (${accountId}, 'add:notes', 'once', ${sha256("request")}, '{}', 2, memory_now())
  `
  yield* sql`INSERT INTO maintenance VALUES ('recount', memory_now(), memory_now())`
  yield* sql`
    INSERT INTO links (account_id, link_id, viewer_hash, download_hash, key_id, target, created_at, expires_at)
    VALUES (${accountId}, 'link', ${sha256(link)}, ${sha256("download")}, 'key',
      ${JSON.stringify({ kind: "row", table: "notes", id: rowId })}, memory_now(), memory_now() + interval '1 hour')
  `
  yield* sql`
    INSERT INTO browser_sessions
    VALUES (${accountId}, ${sha256("session")}, 'ada@example.com', memory_now(), memory_now() + interval '30 days')
  `
  yield* sql`INSERT INTO oauth_clients VALUES ('client', NULL, '{}', memory_now() + interval '90 days')`
  yield* sql`
    INSERT INTO connections
      (account_id, connection_id, client_id, client_name, resource, scope, access, created_at, expires_at)
    VALUES (${accountId}, 'connection', 'client', 'Client', 'http://localhost:3000/mcp', 'memory', 'full', memory_now(),
      memory_now() + interval '90 days')
  `
  yield* sql`
    INSERT INTO oauth_codes
      (account_id, code_hash, connection_id, client_id, client_name, code_challenge, resource, scope, access, created_at,
       expires_at)
    VALUES (${accountId}, ${sha256("code")}, 'other', 'client', 'Client', 'challenge', 'http://localhost:3000/mcp', 'memory',
      'full', memory_now(), memory_now() + interval '1 minute')
  `
  yield* sql`
    INSERT INTO oauth_tokens
    VALUES (${accountId}, ${sha256(token)}, 'connection', 'access', 0, memory_now() + interval '1 hour')
  `
  return { accountId, key, token, link, rowId }
})
