import { Effect, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { accountOfToken, refreshTokenPrefix } from "../../../domain/Token.ts"
import { SignInThrottle } from "../../accounts/SignInThrottle.ts"
import { Settings } from "../../Config.ts"
import { transact } from "../../sql/SqlFailure.ts"
import { Tokens } from "../../Tokens.ts"
import { Clients } from "../Clients.ts"
import { ConnectionsRepo } from "../ConnectionsRepo.ts"
import { invalidGrant, invalidTarget, OAuthProblem } from "../OAuthProblem.ts"
import { isOurResource } from "../Resource.ts"
import { isWider } from "../Scopes.ts"
import { TokensRepo, type LockedToken } from "../TokensRepo.ts"
import { issueTokens } from "./TokenAnswer.ts"
import type { Turns } from "./Turns.ts"

/** What the client sends: its id is authenticated already. */
interface RefreshRequest {
  readonly clientId: string
  readonly refreshToken: string
  readonly scope: string | null
  readonly resources: ReadonlyArray<string>
}

/** One an hour is what a program needs; many programs may share a connection, and each token that is given is kept. */
const refreshesPerHour = 120

type Check = (token: LockedToken, request: RefreshRequest, baseUrl: string) => OAuthProblem | undefined

const unknown = () => invalidGrant("The refresh token is unknown, was replaced, or is over. Sign in again.")

const isRefreshToken: Check = ({ kind }) => (kind === "refresh" ? undefined : unknown())

const isOfClient: Check = (token, { clientId }) => (token.clientId === clientId ? undefined : unknown())

const isInForce: Check = ({ isOver }) => (isOver ? unknown() : undefined)

const hasScope: Check = (token, { scope }) =>
  scope === null || !isWider(token.scope, scope)
    ? undefined
    : new OAuthProblem({ status: 400, error: "invalid_scope", description: "scope is wider than what was granted." })

const hasResource: Check = (_token, { resources }, baseUrl) =>
  resources.every((resource) => isOurResource(baseUrl, resource)) ? undefined : invalidTarget()

const checks: ReadonlyArray<Check> = [isRefreshToken, isOfClient, isInForce, hasScope, hasResource]

/**
 * Exchanges a refresh token for the next two tokens (RFC 6749 section 6). A token stays good until one that replaced it is
 * used: answers get lost, and programs that share a token refresh at once. Each of them may go on with the answer that it
 * got, if they refresh at about the same time again. Whoever shows a token after that ends the connection, since somebody
 * else has used it.
 */
export const makeRefreshTokenGrant = Effect.fnUntraced(function* (inTurn: Turns) {
  const sql = yield* SqlClient.SqlClient
  const connections = yield* ConnectionsRepo
  const repo = yield* TokensRepo
  const tokens = yield* Tokens
  const throttle = yield* SignInThrottle
  const clients = yield* Clients
  const { baseUrl } = yield* Settings

  // A refusal is a value here: as a failure it would undo what it has changed.
  const exchange = Effect.fnUntraced(function* (accountId: AccountId, hash: Uint8Array, request: RefreshRequest) {
    const token = Option.getOrUndefined(yield* repo.lock(accountId, hash))
    if (token === undefined) return Result.fail(unknown())
    for (const check of checks) {
      const fault = check(token, request, baseUrl)
      if (fault !== undefined) return Result.fail(fault)
    }
    const { connectionId, generation } = token
    if (generation < token.currentGeneration || (generation === token.currentGeneration && token.isForked)) {
      yield* connections.revoke(accountId, connectionId)
      return Result.fail(unknown())
    }
    yield* throttle.spend([{ bucket: `refresh:connection:${connectionId}`, perHour: refreshesPerHour }])
    yield* connections.advance(accountId, connectionId, { generation, hash })
    yield* clients.keep(token.clientId)
    const scope = request.scope ?? token.scope
    return Result.succeed(
      yield* issueTokens({ repo, tokens }, { accountId, connectionId, generation: generation + 1, scope })
    )
  }, transact(sql))

  return Effect.fn("RefreshTokenGrant.exchange")(function* (request: RefreshRequest) {
    const accountId = Option.getOrUndefined(accountOfToken(request.refreshToken, refreshTokenPrefix))
    if (accountId === undefined) return yield* unknown()
    const hash = yield* tokens.hash(request.refreshToken)
    if (!(yield* repo.isKnown(accountId, hash))) return yield* unknown()
    return yield* Effect.fromResult(yield* inTurn(accountId, exchange(accountId, hash, request)))
  })
})
