import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { accessTokenPrefix, accountOfToken, refreshTokenPrefix, type AccountId } from "../../domain/Account.ts"
import { Settings } from "../config/Settings.ts"
import { Notices } from "../accounts/Notices.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { LastUses } from "../keys/LastUses.ts"
import { makePrune, lockPatience } from "../sql/SharedSql.ts"
import { transact, refine } from "../sql/SqlFailure.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { makeAuthorizationCodeGrant } from "./AuthorizationCodeGrant.ts"
import { Codes } from "./Codes.ts"
import { Grants } from "./Grants.ts"
import { makeRefreshTokenGrant } from "./RefreshTokenGrant.ts"
import { makeTurns } from "./TokenResponse.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** Two new tokens of a connection, by their hashes. */
interface NewTokens {
  readonly accountId: AccountId
  readonly connectionId: string
  readonly accessHash: Uint8Array
  readonly refreshHash: Uint8Array
  readonly generation: number
}

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
export class TokensRepo extends Context.Service<TokensRepo>()("agent-memory/server/oauth/ClientTokens/TokensRepo", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { accessTokenHours } = (yield* Settings).limits

    const insert = traced("TokensRepo.insert")(function* (tokens: NewTokens) {
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

/** The tokens of clients: an access token lives `ACCESS_TOKEN_HOURS`, a refresh token 90 days. Only their SHA-256 is stored. */
export class ClientTokens extends Context.Service<ClientTokens>()("agent-memory/server/oauth/ClientTokens", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const grants = yield* Grants
    const repo = yield* TokensRepo
    const tokens = yield* Tokens

    /**
     * Revokes a token (RFC 7009), and with a refresh token its whole connection. Another client's token is treated like an
     * unknown one.
     */
    const revoke = traced("ClientTokens.revoke")(function* (input: {
      readonly clientId: string
      readonly token: string
    }) {
      const accountId = Option.orElse(accountOfToken(input.token, accessTokenPrefix), () =>
        accountOfToken(input.token, refreshTokenPrefix)
      )
      if (Option.isNone(accountId)) return
      const hash = yield* tokens.hash(input.token)
      const found = yield* repo.lock(accountId.value, hash)
      if (Option.isNone(found) || found.value.clientId !== input.clientId) return
      if (found.value.kind === "access") yield* repo.remove(accountId.value, hash)
      else yield* grants.revoke(accountId.value, found.value.connectionId)
    }, transact(sql))

    const inTurn = makeTurns()

    return {
      exchangeCode: yield* makeAuthorizationCodeGrant(inTurn),
      refresh: yield* makeRefreshTokenGrant(inTurn),
      revoke,
      prune: repo.prune
    }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(
    Layer.provide([
      Codes.layer,
      Grants.layer,
      LastUses.layer,
      TokensRepo.layer,
      Tokens.layer,
      SignInThrottle.layer,
      Notices.layer
    ])
  )
}
