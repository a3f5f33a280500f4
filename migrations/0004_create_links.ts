import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // target is the JSON of what the link leads to. A link lives no longer than the key that made it.
  yield* sql`
    CREATE TABLE links (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      link_id text COLLATE "C" NOT NULL,
      viewer_hash bytea NOT NULL,
      download_hash bytea NOT NULL,
      key_id text COLLATE "C",
      target text COLLATE "C" NOT NULL,
      created_at timestamptz(3) NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, link_id),
      UNIQUE (account_id, viewer_hash),
      UNIQUE (account_id, download_hash)
    )
  `
  yield* sql`CREATE INDEX links_by_expiry ON links (expires_at)`
})
