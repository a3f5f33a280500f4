import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // The service's only clock. Tests replace this function to travel in time; nothing else reads the time.
  yield* sql`
    CREATE FUNCTION memory_now() RETURNS timestamptz
    LANGUAGE sql VOLATILE PARALLEL SAFE
    RETURN date_trunc('milliseconds', clock_timestamp())
  `
  yield* sql`
    CREATE TABLE accounts (
      account_id text COLLATE "C" PRIMARY KEY,
      created_at timestamptz(3) NOT NULL,
      revision bigint NOT NULL DEFAULT 0,
      next_seq bigint NOT NULL DEFAULT 1,
      storage_bytes bigint NOT NULL DEFAULT 0,
      version_bytes bigint NOT NULL DEFAULT 0,
      idempotency_bytes bigint NOT NULL DEFAULT 0
    )
  `
  yield* sql`
    CREATE TABLE account_emails (
      email text COLLATE "C" PRIMARY KEY,
      account_id text COLLATE "C" NOT NULL UNIQUE
    )
  `
  yield* sql`
    CREATE TABLE api_keys (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      key_id text COLLATE "C" NOT NULL,
      name text NOT NULL,
      prefix text NOT NULL,
      hash bytea NOT NULL,
      created_at timestamptz(3) NOT NULL,
      revoked_at timestamptz(3),
      last_used_at timestamptz(3),
      PRIMARY KEY (account_id, key_id),
      UNIQUE (account_id, hash)
    )
  `
  yield* sql`
    CREATE TABLE magic_links (
      hash bytea PRIMARY KEY,
      email text NOT NULL,
      created_at timestamptz(3) NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      used_at timestamptz(3)
    )
  `
  yield* sql`CREATE INDEX magic_links_expires_at ON magic_links (expires_at)`
  // Unlogged: a bucket lost in a crash is a full bucket, and checking one never waits for the disk. Half-filled pages keep
  // a bucket's next version beside the last one, so that the index need not be touched.
  yield* sql`
    CREATE UNLOGGED TABLE key_buckets (
      account_id text COLLATE "C" NOT NULL,
      key_id text COLLATE "C" NOT NULL,
      class text COLLATE "C" NOT NULL,
      tat timestamptz NOT NULL,
      allowed boolean NOT NULL,
      PRIMARY KEY (account_id, key_id, class)
    ) WITH (fillfactor = 50)
  `
  yield* sql`
    CREATE UNLOGGED TABLE sign_in_buckets (
      bucket text COLLATE "C" PRIMARY KEY,
      tat timestamptz NOT NULL,
      allowed boolean NOT NULL
    )
  `
})
