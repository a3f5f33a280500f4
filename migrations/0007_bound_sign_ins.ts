import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A link that a newer one for the same address replaced is used up, and its page says why.
  yield* sql`ALTER TABLE magic_links ADD COLUMN replaced_at timestamptz(3)`
  yield* sql`CREATE INDEX magic_links_open ON magic_links (email) WHERE used_at IS NULL`
  // A registration that no tokens were given to yet: of these only so many are kept.
  yield* sql`ALTER TABLE oauth_clients ADD COLUMN is_used boolean NOT NULL DEFAULT false`
  yield* sql`UPDATE oauth_clients SET is_used = true WHERE expires_at > memory_now() + interval '7 days'`
  yield* sql`CREATE INDEX oauth_clients_unused ON oauth_clients (expires_at) WHERE NOT is_used`
  // A session that is not used for some days ends before its time.
  yield* sql`ALTER TABLE browser_sessions ADD COLUMN last_used_at timestamptz(3) NOT NULL DEFAULT memory_now()`
  yield* sql`CREATE INDEX browser_sessions_by_use ON browser_sessions (last_used_at)`
})
