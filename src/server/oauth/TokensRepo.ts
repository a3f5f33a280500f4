import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { refine } from "../sql/SqlFailure.ts"

/** Two new tokens of a connection, by their hashes. */
interface NewTokens {
  readonly accountId: AccountId
  readonly connectionId: string
  readonly accessHash: Uint8Array
  readonly refreshHash: Uint8Array
  readonly generation: number
}

/** A token with its connection, which nobody else changes until the transaction ends. */
export interface LockedToken {
  readonly kind: "access" | "refresh"
  readonly connectionId: string
  readonly clientId: string
  readonly resource: string
  readonly scope: string
  readonly generation: number
  /** That of the newest refresh token that was used. */
  readonly currentGeneration: number
  /** Another token of the current generation was used first, and so long ago that it wasn't a refresh at the same time. */
  readonly isForked: boolean
  /** The token is over, or its connection. */
  readonly isOver: boolean
}

/** How many seconds an access token opens `/mcp`. */
export const accessTokenSeconds = 3600

/** How long programs that share a refresh token may each go on with the answer that they got. */
const forkGrace = "10 minutes"

/** The statements on `oauth_tokens`. */
export class TokensRepo extends Context.Service<
  TokensRepo,
  {
    readonly insert: (tokens: NewTokens) => Effect.Effect<void, Unavailable>
    /** Whether there is a token of this hash, waiting for nobody. */
    readonly isKnown: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<boolean, Unavailable>
    readonly lock: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<Option.Option<LockedToken>, Unavailable>
    readonly remove: (accountId: AccountId, hash: Uint8Array) => Effect.Effect<void, Unavailable>
    /** Removes tokens that are over, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/TokensRepo") {
  static readonly layer = Layer.effect(
    TokensRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fn("TokensRepo.insert")(function* (tokens: NewTokens) {
        yield* sql`
          INSERT INTO oauth_tokens (account_id, token_hash, connection_id, kind, generation, expires_at)
          SELECT ${tokens.accountId}, token.hash, ${tokens.connectionId}, token.kind, ${tokens.generation}::integer,
            clock.now + token.life
          FROM (VALUES
            (${tokens.accessHash}::bytea, 'access', make_interval(secs => ${accessTokenSeconds}::integer)),
            (${tokens.refreshHash}::bytea, 'refresh', interval '90 days')
          ) AS token (hash, kind, life), (SELECT memory_now() AS now OFFSET 0) AS clock
        `
      }, refine)

      const isKnown = Effect.fn("TokensRepo.isKnown")(function* (accountId: AccountId, hash: Uint8Array) {
        const found = yield* sql`SELECT FROM oauth_tokens WHERE account_id = ${accountId} AND token_hash = ${hash}`
        return found.length > 0
      }, refine)

      const lock = Effect.fn("TokensRepo.lock")(function* (accountId: AccountId, hash: Uint8Array) {
        const found = yield* sql<{
          kind: "access" | "refresh"
          connection_id: string
          client_id: string
          resource: string
          scope: string
          generation: number
          current_generation: number
          is_forked: boolean
          is_over: boolean
        }>`
          SELECT t.kind, c.connection_id, c.client_id, c.resource, c.scope, t.generation,
            c.generation AS current_generation,
            coalesce(
              c.refreshed_with <> t.token_hash AND c.refreshed_at <= memory_now() - ${forkGrace}::interval, false
            ) AS is_forked,
            least(t.expires_at, c.expires_at) <= memory_now() AS is_over
          FROM (SELECT set_config('lock_timeout', ${lockPatience}, true)) AS patience, oauth_tokens t
          JOIN connections c ON c.account_id = ${accountId} AND c.connection_id = t.connection_id
          WHERE t.account_id = ${accountId} AND t.token_hash = ${hash}
          FOR UPDATE OF c
        `
        return Option.map(Option.fromUndefinedOr(found[0]), (row): LockedToken => ({
          kind: row.kind,
          connectionId: row.connection_id,
          clientId: row.client_id,
          resource: row.resource,
          scope: row.scope,
          generation: row.generation,
          currentGeneration: row.current_generation,
          isForked: row.is_forked,
          isOver: row.is_over
        }))
      }, refine)

      const remove = Effect.fn("TokensRepo.remove")(function* (accountId: AccountId, hash: Uint8Array) {
        yield* sql`DELETE FROM oauth_tokens WHERE account_id = ${accountId} AND token_hash = ${hash}`
      }, refine)

      const prune = Effect.fn("TokensRepo.prune")(function* (rows: number) {
        const removed = yield* sql<{ count: number }>`
          WITH over AS (
            SELECT account_id, token_hash
            FROM oauth_tokens
            WHERE expires_at <= (SELECT memory_now())
            ORDER BY expires_at
            LIMIT ${rows}
          ), removed AS (
            DELETE FROM oauth_tokens t
            USING over o
            WHERE t.account_id = o.account_id AND t.token_hash = o.token_hash
            RETURNING t.token_hash
          )
          SELECT count(*)::integer AS count FROM removed
        `
        return removed[0]!.count
      }, refine)

      return TokensRepo.of({ insert, isKnown, lock, remove, prune })
    })
  )
}
