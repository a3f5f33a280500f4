import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  // A sign-in that began in a browser: browser_hash is of that browser's cookie, code_hash of the cookie and the mailed
  // code together, so that six digits can't be guessed from the hash.
  yield* sql`
    ALTER TABLE magic_links
      ADD COLUMN browser_hash bytea,
      ADD COLUMN code_hash bytea,
      ADD COLUMN wrong_codes integer NOT NULL DEFAULT 0,
      ADD COLUMN return_to text
  `
  yield* sql`
    CREATE UNIQUE INDEX magic_links_by_browser ON magic_links (browser_hash) WHERE browser_hash IS NOT NULL
  `
  yield* sql`
    CREATE TABLE browser_sessions (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      session_hash bytea NOT NULL,
      email text NOT NULL,
      created_at timestamptz(3) NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, session_hash)
    )
  `
  yield* sql`CREATE INDEX browser_sessions_by_expiry ON browser_sessions (expires_at)`
  // metadata is the JSON of what is needed of a registration. Public clients have no secret.
  yield* sql`
    CREATE TABLE oauth_clients (
      client_id text COLLATE "C" PRIMARY KEY,
      secret_hash bytea,
      metadata text NOT NULL,
      expires_at timestamptz(3) NOT NULL
    )
  `
  yield* sql`CREATE INDEX oauth_clients_by_expiry ON oauth_clients (expires_at)`
  // generation counts the refresh tokens that were followed by one another: a token of an earlier one is a replay.
  // refreshed_with and refreshed_at are the first token of this generation that was used, and when. A connection ends with
  // its last refresh token, or when it is revoked.
  yield* sql`
    CREATE TABLE connections (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      connection_id text COLLATE "C" NOT NULL,
      client_id text NOT NULL,
      client_name text NOT NULL,
      resource text NOT NULL,
      scope text NOT NULL,
      access text NOT NULL,
      tables text[],
      generation integer NOT NULL DEFAULT 0,
      refreshed_with bytea,
      refreshed_at timestamptz(3),
      created_at timestamptz(3) NOT NULL,
      last_used_at timestamptz(3),
      expires_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, connection_id)
    )
  `
  yield* sql`CREATE INDEX connections_by_expiry ON connections (expires_at)`
  // A link was made by a key or by a connection, and lives no longer than it.
  yield* sql`ALTER TABLE links ADD COLUMN connection_id text COLLATE "C"`
  // A spent code is kept for a day, so that a replay is known and ends the connection that came of it.
  yield* sql`
    CREATE TABLE oauth_codes (
      account_id text COLLATE "C" NOT NULL REFERENCES accounts,
      code_hash bytea NOT NULL,
      connection_id text COLLATE "C" NOT NULL,
      client_id text NOT NULL,
      client_name text NOT NULL,
      redirect_uri text,
      code_challenge text NOT NULL,
      resource text NOT NULL,
      scope text NOT NULL,
      access text NOT NULL,
      tables text[],
      created_at timestamptz(3) NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      used_at timestamptz(3),
      PRIMARY KEY (account_id, code_hash)
    )
  `
  yield* sql`CREATE INDEX oauth_codes_by_expiry ON oauth_codes (expires_at)`
  yield* sql`
    CREATE TABLE oauth_tokens (
      account_id text COLLATE "C" NOT NULL,
      token_hash bytea NOT NULL,
      connection_id text COLLATE "C" NOT NULL,
      kind text COLLATE "C" NOT NULL,
      generation integer NOT NULL,
      expires_at timestamptz(3) NOT NULL,
      PRIMARY KEY (account_id, token_hash),
      FOREIGN KEY (account_id, connection_id) REFERENCES connections ON DELETE CASCADE
    )
  `
  yield* sql`CREATE INDEX oauth_tokens_by_expiry ON oauth_tokens (expires_at)`
  yield* sql`CREATE INDEX oauth_tokens_by_connection ON oauth_tokens (account_id, connection_id)`
})
