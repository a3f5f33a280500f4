import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { Settings } from "../config/Settings.ts"
import { lockPatience, makePrune } from "../sql/SharedSql.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** A token and its connection, which is locked until the transaction ends. */
export interface LockedToken {
  readonly kind: "access" | "refresh"
  readonly connectionId: string
  readonly clientId: string
  readonly resource: string
  readonly scope: string
  readonly generation: number
  /** The generation of the newest refresh token that was used. */
  readonly currentGeneration: number
  /** Another token of the current generation was used first, too long ago for a concurrent refresh. */
  readonly isForked: boolean
  /** The token or its connection has expired. */
  readonly isExpired: boolean
}

/** How long programs that share a refresh token may each continue with the response they got. */
const forkGrace = "10 minutes"

/** The statements on `oauth_tokens`. */
export class TokensRepo extends Context.Service<TokensRepo>()("agent-memory/server/oauth/TokensRepo", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { accessTokenHours } = (yield* Settings).limits

    /** Stores two new tokens of a connection, by their hashes. */
    const insert = traced("TokensRepo.insert")(function* (tokens: {
      readonly accountId: AccountId
      readonly connectionId: string
      readonly accessHash: Uint8Array
      readonly refreshHash: Uint8Array
      readonly generation: number
    }) {
      yield* sql`
        INSERT INTO oauth_tokens (account_id, token_hash, connection_id, kind, generation, expires_at)
        SELECT ${tokens.accountId}, token.hash, ${tokens.connectionId}, token.kind, ${tokens.generation}::integer,
          clock.now + token.life
        FROM (VALUES
          (${tokens.accessHash}::bytea, 'access', make_interval(hours => ${accessTokenHours}::integer)),
          (${tokens.refreshHash}::bytea, 'refresh', interval '90 days')
        ) AS token (hash, kind, life), (SELECT memory_now() AS now OFFSET 0) AS clock
      `
    }, refine)

    /** Whether a token has this hash. Waits for no lock. */
    const isKnown = traced("TokensRepo.isKnown")(function* (accountId: AccountId, hash: Uint8Array) {
      const found = yield* sql`SELECT FROM oauth_tokens WHERE account_id = ${accountId} AND token_hash = ${hash}`
      return found.length > 0
    }, refine)

    const lock = traced("TokensRepo.lock")(function* (accountId: AccountId, hash: Uint8Array) {
      const found = yield* sql<LockedToken>`
        SELECT t.kind, c.connection_id AS "connectionId", c.client_id AS "clientId", c.resource, c.scope, t.generation,
          c.generation AS "currentGeneration",
          coalesce(
            c.refreshed_with <> t.token_hash AND c.refreshed_at <= memory_now() - ${forkGrace}::interval, false
          ) AS "isForked",
          least(t.expires_at, c.expires_at) <= memory_now() AS "isExpired"
        FROM (SELECT set_config('lock_timeout', ${lockPatience}, true)) AS patience, oauth_tokens t
        JOIN connections c ON c.account_id = ${accountId} AND c.connection_id = t.connection_id
        WHERE t.account_id = ${accountId} AND t.token_hash = ${hash}
        FOR UPDATE OF c
      `
      return Option.fromUndefinedOr(found[0])
    }, refine)

    const remove = traced("TokensRepo.remove")(function* (accountId: AccountId, hash: Uint8Array) {
      yield* sql`DELETE FROM oauth_tokens WHERE account_id = ${accountId} AND token_hash = ${hash}`
    }, refine)

    const prune = makePrune(sql, "ClientTokens", {
      table: "oauth_tokens",
      key: "account_id, token_hash",
      due: sql`expires_at <= (SELECT memory_now())`,
      oldest: "expires_at"
    })

    return { insert, isKnown, lock, remove, prune, accessTokenSeconds: accessTokenHours * 3600 }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
