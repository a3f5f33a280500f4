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

/** Rows of the table `things`, with the sort keys that the first release gave them. */
const things = [
  [2, `{"title":"Buy milk","price":2,"tag":"food"}`, `{"title":"2Buy milk","price":"1211112","tag":"2food"}`],
  [3, `{"title":"Refund","price":-3,"tag":null}`, `{"title":"2Refund","price":"1088886~","tag":"0"}`],
  [
    4,
    `{"title":"Éclair","price":12345678901234567890.123,"tag":"sweet"}`,
    `{"title":"2Éclair","price":"121122012345678901234567890123","tag":"2sweet"}`
  ]
] as const

const long = "x".repeat(300)
const longThing = [5, `{"title":"${long}"}`, `{"title":"2${long.slice(0, 198)}\\u0001\\u0003"}`] as const

const bytesOf = (texts: ReadonlyArray<string>) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)

/** The id of a row of the table `things` by its place in the account. */
export const thingId = (seq: number) => `0190d0c0-0000-7000-8000-00000000000${seq}`

/** The place of the row that the first release deleted. */
export const deletedSeq = 6

const deletedThing = `{"title":"Buy bread","price":1.5}`

/** Brings an empty database to what the first release left: an account with something in every table. */
export const fillAsFirstRelease = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* firstMigrations
  const accountId = AccountId.make(accountIdFrom(randomBytes(accountIdBytes)))
  const key = make(accountId, randomBytes(secretBytes))
  const token = makeToken(accountId, randomBytes(tokenBytes), accessTokenPrefix)
  const link = makeToken(accountId, randomBytes(tokenBytes))
  const rowId = thingId(1)
  const contents = [...things, longThing].map(([, data]) => data)
  yield* sql`
    INSERT INTO accounts (account_id, created_at, revision, next_seq, storage_bytes, version_bytes, idempotency_bytes)
    VALUES (${accountId}, memory_now(), 2, ${deletedSeq + 1}, ${bytesOf(['{"n":2}', ...contents])},
      ${bytesOf(['{"n":1}', deletedThing])}, 2)
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
  yield* sql`INSERT INTO tables VALUES (${accountId}, 'notes', 1), (${accountId}, 'things', ${contents.length})`
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
  for (const [seq, data, facets] of [...things, longThing]) {
    const longFacets = seq === longThing[0] ? `{"title":"2${long}"}` : null
    yield* sql`
      INSERT INTO rows
      VALUES (${accountId}, 'things', ${seq}, ${thingId(seq)}, memory_now(), memory_now(), 0, ${data}, ${facets}, ${longFacets})
    `
  }
  yield* sql`
    INSERT INTO versions
    VALUES (${accountId}, 'things', ${thingId(deletedSeq)}, 1, ${deletedSeq}, memory_now(), memory_now(), ${deletedThing},
      ${bytesOf([deletedThing])}, 'delete', '{"kind":"key","id":"key","name":"key"}', memory_now())
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
