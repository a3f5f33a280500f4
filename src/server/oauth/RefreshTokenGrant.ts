import { Effect, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { accountOfToken, refreshTokenPrefix, type AccountId } from "../../domain/Account.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Settings } from "../config/Settings.ts"
import { transact } from "../sql/SqlFailure.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { Clients } from "./Clients.ts"
import { Grants } from "./Grants.ts"
import { invalidGrant, invalidTarget, OAuthProblem } from "./OAuthProblem.ts"
import { isOurResource, isWider } from "./ServerMetadata.ts"
import { TokensRepo, type LockedToken } from "./ClientTokens.ts"
import { issueTokens, type Turns } from "./TokenResponse.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** The request of an authenticated client. */
export interface RefreshRequest {
  readonly clientId: string
  readonly refreshToken: string
  readonly scope: string | null
  readonly resources: ReadonlyArray<string>
}

/** A program needs few, and many programs may share a connection. Every issued token is stored, so there is a limit. */
const refreshesPerHour = 120

type Check = (token: LockedToken, request: RefreshRequest, baseUrl: string) => OAuthProblem | undefined

const unknown = () => invalidGrant("The refresh token is unknown, expired, or was replaced. Sign in again.")

const isRefreshToken: Check = ({ kind }) => (kind === "refresh" ? undefined : unknown())

const isFromClient: Check = (token, { clientId }) => (token.clientId === clientId ? undefined : unknown())

const isInForce: Check = ({ isExpired }) => (isExpired ? unknown() : undefined)

const hasScope: Check = (token, { scope }) =>
  scope === null || !isWider(token.scope, scope)
    ? undefined
    : new OAuthProblem({ status: 400, error: "invalid_scope", description: "scope is wider than the granted scope." })

const hasResource: Check = (_token, { resources }, baseUrl) =>
  resources.every((resource) => isOurResource(baseUrl, resource)) ? undefined : invalidTarget()

const checks: ReadonlyArray<Check> = [isRefreshToken, isFromClient, isInForce, hasScope, hasResource]

/**
 * Exchanges a refresh token for the next two tokens (RFC 6749 section 6). A token stays valid until one that replaced it is
 * used, because responses get lost and programs that share a token refresh at the same time. Each program can continue with
 * its own response for as long as they refresh at about the same time. Any later use of a replaced token ends the connection,
 * because the token may have been stolen.
 */
export const makeRefreshTokenGrant = Effect.fnUntraced(function* (inTurn: Turns) {
  const sql = yield* SqlClient.SqlClient
  const grants = yield* Grants
  const repo = yield* TokensRepo
  const tokens = yield* Tokens
  const throttle = yield* SignInThrottle
  const clients = yield* Clients
  const { baseUrl } = yield* Settings

  // A refusal is returned, not raised: a failure would roll back the revocation.
  const exchange = Effect.fnUntraced(function* (accountId: AccountId, hash: Uint8Array, request: RefreshRequest) {
    const token = Option.getOrUndefined(yield* repo.lock(accountId, hash))
    if (token === undefined) return Result.fail(unknown())
    for (const check of checks) {
      const fault = check(token, request, baseUrl)
      if (fault !== undefined) return Result.fail(fault)
    }
    const { connectionId, generation } = token
    if (generation < token.currentGeneration || (generation === token.currentGeneration && token.isForked)) {
      yield* grants.revoke(accountId, connectionId)
      return Result.fail(unknown())
    }
    yield* throttle.spend([{ bucket: `refresh:connection:${connectionId}`, perHour: refreshesPerHour }])
    yield* grants.advance(accountId, connectionId, { generation, hash })
    yield* clients.keep(token.clientId)
    const scope = request.scope ?? token.scope
    return Result.succeed(
      yield* issueTokens({ repo, tokens }, { accountId, connectionId, generation: generation + 1, scope })
    )
  }, transact(sql))

  return traced("RefreshTokenGrant.exchange")(function* (request: RefreshRequest) {
    const accountId = Option.getOrUndefined(accountOfToken(request.refreshToken, refreshTokenPrefix))
    if (accountId === undefined) return yield* unknown()
    const hash = yield* tokens.hash(request.refreshToken)
    if (!(yield* repo.isKnown(accountId, hash))) return yield* unknown()
    return yield* Effect.fromResult(yield* inTurn(accountId, exchange(accountId, hash, request)))
  })
})
