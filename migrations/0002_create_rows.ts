import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  yield* sql`
    CREATE TABLE tables (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      name text COLLATE "C" NOT NULL,
      rows integer NOT NULL,
      PRIMARY KEY (account_id, name)
    )
  `
  // seq gives insertion order, and a restored row its old place. facets holds the order-preserving keys of the
  // top-level fields, long_facets the full keys of those too long for it.
  yield* sql`
    CREATE TABLE rows (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      table_name text COLLATE "C" NOT NULL,
      seq bigint NOT NULL,
      id text COLLATE "C" NOT NULL,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      last_version integer NOT NULL,
      data text COLLATE "C" NOT NULL,
      facets jsonb NOT NULL,
      long_facets jsonb,
      PRIMARY KEY (account_id, table_name, seq),
      UNIQUE (account_id, table_name, id)
    )
  `
  yield* sql`
    CREATE TABLE versions (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      table_name text COLLATE "C" NOT NULL,
      row_id text COLLATE "C" NOT NULL,
      version integer NOT NULL,
      seq bigint NOT NULL,
      created_at timestamptz(3) NOT NULL,
      updated_at timestamptz(3) NOT NULL,
      data text COLLATE "C" NOT NULL,
      bytes integer NOT NULL,
      operation text NOT NULL,
      changed_by text NOT NULL,
      archived_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, table_name, row_id, version)
    )
  `
  yield* sql`CREATE INDEX versions_by_age ON versions (account_id, archived_at)`
  yield* sql`
    CREATE TABLE idempotency_records (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      scope text COLLATE "C" NOT NULL,
      key text COLLATE "C" NOT NULL,
      request_hash bytea NOT NULL,
      answer text NOT NULL,
      bytes integer NOT NULL,
      created_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, scope, key)
    )
  `
  yield* sql`CREATE INDEX idempotency_records_by_age ON idempotency_records (account_id, created_at)`
})
