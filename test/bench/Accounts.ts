import { createHash, randomBytes } from "node:crypto"
import {
  accessTokenPrefix,
  AccountId,
  accountIdBytes,
  accountIdFrom,
  makeToken,
  tokenBytes
} from "../../src/domain/Account.ts"
import { make, prefix, secretBytes } from "../../src/domain/Key.ts"
import { mcpResource } from "../../src/server/oauth/ServerMetadata.ts"
import { query } from "./Database.ts"

/** An account with a key, as it is in the database of a service. */
export interface Account {
  readonly accountId: string
  readonly key: string
}

const sha256 = (text: string) => createHash("sha256").update(text).digest("hex")

/** Makes accounts with one key each, as many at once as a sign-in makes one by one. */
export const makeAccounts = async (databaseUrl: string, count: number): Promise<ReadonlyArray<Account>> => {
  const accounts = Array.from({ length: count }, (): Account => {
    const accountId = accountIdFrom(randomBytes(accountIdBytes))
    return { accountId, key: make(accountId, randomBytes(secretBytes)) }
  })
  const ids = accounts.map(({ accountId }) => accountId)
  await query(
    databaseUrl,
    `INSERT INTO accounts (account_id, created_at)
    SELECT id, memory_now() FROM jsonb_array_elements_text($1::text::jsonb) AS id`,
    [JSON.stringify(ids)]
  )
  await query(
    databaseUrl,
    `INSERT INTO api_keys (account_id, key_id, name, prefix, hash, created_at)
    SELECT id, gen_random_uuid(), 'bench', prefix, decode(hash, 'hex'), memory_now()
    FROM jsonb_to_recordset($1::text::jsonb) AS k (id text, prefix text, hash text)`,
    [JSON.stringify(accounts.map(({ accountId, key }) => ({ id: accountId, prefix: prefix(key), hash: sha256(key) })))]
  )
  return accounts
}

/** Signs a browser in to the account, and gives its cookie. */
export const signIn = async (databaseUrl: string, accountId: string): Promise<string> => {
  const token = makeToken(AccountId.make(accountId), randomBytes(tokenBytes))
  await query(
    databaseUrl,
    `INSERT INTO browser_sessions (account_id, session_hash, email, created_at, expires_at)
    SELECT $1, decode($2, 'hex'), 'bench@example.com', now, now + interval '1 day' FROM memory_now() AS now`,
    [accountId, sha256(token)]
  )
  return `agent_memory_session=${token}`
}

/** Makes a connection of the account to `/mcp` with full access, and gives its access token. */
export const connect = async (databaseUrl: string, baseUrl: string, accountId: string): Promise<string> => {
  const token = makeToken(AccountId.make(accountId), randomBytes(tokenBytes), accessTokenPrefix)
  await query(
    databaseUrl,
    `INSERT INTO connections
      (account_id, connection_id, client_id, client_name, resource, scope, access, created_at, expires_at)
    SELECT $1, 'bench', 'bench', 'bench', $2, 'memory', 'full', now, now + interval '1 day' FROM memory_now() AS now`,
    [accountId, mcpResource(baseUrl)]
  )
  await query(
    databaseUrl,
    `INSERT INTO oauth_tokens (account_id, token_hash, connection_id, kind, generation, expires_at)
    VALUES ($1, decode($2, 'hex'), 'bench', 'access', 0, memory_now() + interval '1 day')`,
    [accountId, sha256(token)]
  )
  return token
}
