import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A link that a newer one for the same address replaced is used up, and its page says why.
  yield* sql`CREATE INDEX magic_links_open ON magic_links (email) WHERE used_at IS NULL`
  yield* sql`ALTER TABLE magic_links ADD COLUMN replaced_at timestamptz(3)`
  // A registration that no tokens were given to yet: of these only so many are kept.
  yield* sql`ALTER TABLE oauth_clients ADD COLUMN is_used boolean NOT NULL DEFAULT false`
  yield* sql`UPDATE oauth_clients SET is_used = true WHERE expires_at > memory_now() + interval '7 days'`
  yield* sql`CREATE INDEX oauth_clients_unused ON oauth_clients (expires_at) WHERE NOT is_used`
  // A session that is not used for some days ends before its time. Those that there are count as used now: a default that
  // is one time for all of them writes none of them anew, as memory_now() would.
  yield* sql`ALTER TABLE browser_sessions ADD COLUMN last_used_at timestamptz(3) NOT NULL DEFAULT transaction_timestamp()`
  yield* sql`ALTER TABLE browser_sessions ALTER COLUMN last_used_at SET DEFAULT memory_now()`
  yield* sql`CREATE INDEX browser_sessions_by_use ON browser_sessions (last_used_at)`
})
