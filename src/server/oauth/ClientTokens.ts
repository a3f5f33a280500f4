import { Context, Effect, Layer, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, timingSafeEqual } from "node:crypto"
import { accessTokenPrefix, accountOfToken, refreshTokenPrefix, type AccountId } from "../../domain/Account.ts"
import { Unavailable } from "../../domain/Problem.ts"
import { Notices } from "../accounts/Notices.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { makeRoom } from "../capacity/Room.ts"
import { Settings } from "../config/Settings.ts"
import { LastUses } from "../keys/LastUses.ts"
import { transact } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Clients } from "./Clients.ts"
import { Codes, type FoundCode } from "./Codes.ts"
import { Grants } from "./Grants.ts"
import { oauthProblem, type OAuthProblem } from "./OAuthProblem.ts"
import { isOurResource, isWider } from "./ServerMetadata.ts"
import { type LockedToken, TokensRepo } from "./TokensRepo.ts"

/** The requests of an authenticated client. */
interface CodeRequest {
  readonly clientId: string
  readonly code: string
  readonly verifier: string | undefined
  readonly redirectUri: string | undefined
  readonly resources: ReadonlyArray<string>
}
interface RefreshRequest {
  readonly clientId: string
  readonly refreshToken: string
  readonly scope: string | undefined
  readonly resources: ReadonlyArray<string>
}

/** Clients reconnect as new ones. Beyond this number, an account's least recently used connections end. */
const maxConnections = 100

/** A program needs few, and many programs may share a connection. Every issued token is stored, so there is a limit. */
const refreshesPerHour = 120

const unknownCode = () =>
  oauthProblem("invalid_grant", "The code is unknown, expired, or already used. Start the sign-in again.")
const unknownToken = () =>
  oauthProblem("invalid_grant", "The refresh token is unknown, expired, or was replaced. Sign in again.")

const targetFault = ({ resources }: CodeRequest | RefreshRequest, baseUrl: string): OAuthProblem | undefined =>
  resources.every((resource) => isOurResource(baseUrl, resource))
    ? undefined
    : oauthProblem("invalid_target", "resource must be the URL of this service's /mcp.")

/** Whether the challenge was made from the verifier (RFC 7636 section 4.6). */
const isChallengeOf = (challenge: string, verifier: string): boolean => {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const made = createHash("sha256").update(verifier).digest()
  const given = Buffer.from(challenge, "base64url")
  return given.length === made.length && timingSafeEqual(given, made)
}

const codeFault = (code: FoundCode, request: CodeRequest, baseUrl: string): OAuthProblem | undefined => {
  const { clientId, redirectUri, verifier } = request
  if (code.clientId !== clientId || code.isExpired) return unknownCode()
  // OAuth 2.1 no longer has `redirect_uri` here. If a client sends it, it must be the one of the authorization request.
  if (redirectUri !== undefined && redirectUri !== code.redirectUri) {
    return oauthProblem("invalid_grant", "redirect_uri differs from the one in the authorization request.")
  }
  if (verifier === undefined) return oauthProblem("invalid_request", "code_verifier is missing.")
  if (isChallengeOf(code.codeChallenge, verifier)) return targetFault(request, baseUrl)
  return oauthProblem("invalid_grant", "code_verifier does not match the code_challenge of the authorization request.")
}

const refreshFault = (token: LockedToken, request: RefreshRequest, baseUrl: string): OAuthProblem | undefined => {
  const { clientId, scope } = request
  if (token.kind !== "refresh" || token.clientId !== clientId || token.isExpired) return unknownToken()
  if (scope === undefined || !isWider(token.scope, scope)) return targetFault(request, baseUrl)
  return oauthProblem("invalid_scope", "scope is wider than the granted scope.")
}

/** The tokens of clients: an access token lives `ACCESS_TOKEN_HOURS`, a refresh token 90 days. Only their SHA-256 is stored. */
export class ClientTokens extends Context.Service<ClientTokens>()("agent-memory/server/oauth/ClientTokens", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const codes = yield* Codes
    const grants = yield* Grants
    const repo = yield* TokensRepo
    const tokens = yield* Tokens
    const clients = yield* Clients
    const notices = yield* Notices
    const lastUses = yield* LastUses
    const throttle = yield* SignInThrottle
    const { baseUrl } = yield* Settings

    // In the database the exchanges of an account would wait for each other's locks, each holding a connection that others
    // need. Only senders of a known code or token take a turn, because an account's id is not secret.
    const turns = makeRoom({ total: 8, perAccount: 1, patience: "2 seconds" })
    const inTurn = <A, E, R>(accountId: AccountId, exchange: Effect.Effect<A, E, R>) =>
      Effect.scoped(Effect.andThen(turns.take(accountId, 1), exchange)).pipe(
        Effect.catchTag("Busy", () =>
          Effect.fail(new Unavailable({ detail: "Too many concurrent token requests for this account." }))
        )
      )

    /** Creates the next two tokens of a connection, in the response of RFC 6749 section 5.1, which alone shows them. */
    const issue = Effect.fnUntraced(function* (
      accountId: AccountId,
      connection: { readonly connectionId: string; readonly generation: number; readonly scope: string }
    ) {
      const { connectionId, generation, scope } = connection
      const access_token = yield* tokens.make(accountId, accessTokenPrefix)
      const refresh_token = yield* tokens.make(accountId, refreshTokenPrefix)
      const [accessHash, refreshHash] = [yield* tokens.hash(access_token), yield* tokens.hash(refresh_token)]
      yield* repo.insert({ accountId, connectionId, generation, accessHash, refreshHash })
      return { access_token, token_type: "Bearer", expires_in: repo.accessTokenSeconds, refresh_token, scope }
    })

    // A refusal is returned, not raised: a failure would roll back the revocation.
    const spendCode = Effect.fnUntraced(function* (accountId: AccountId, hash: Uint8Array, request: CodeRequest) {
      const code = Option.getOrUndefined(yield* codes.lock(accountId, hash))
      if (code === undefined) return Result.fail(unknownCode())
      if (code.isSpent) {
        yield* grants.revoke(accountId, code.connectionId)
        return Result.fail(unknownCode())
      }
      const fault = codeFault(code, request, baseUrl)
      if (fault !== undefined) return Result.fail(fault)
      yield* codes.spend(accountId, hash)
      yield* grants.insert(code)
      yield* grants.keepNewest(accountId, maxConnections)
      yield* clients.keep(code.clientId)
      return Result.succeed({ code, response: yield* issue(accountId, { ...code, generation: 0 }) })
    }, transact(sql))

    /**
     * Exchanges a code for the first tokens of a new connection (RFC 6749 section 4.1.3, RFC 7636). A code works once. A second
     * use ends the connection that the first one created, because one of the two senders stole the code.
     */
    const exchangeCode = traced("ClientTokens.exchangeCode")(function* (request: CodeRequest) {
      const accountId = Option.getOrUndefined(accountOfToken(request.code))
      if (accountId === undefined) return yield* unknownCode()
      const hash = yield* tokens.hash(request.code)
      if (!(yield* codes.isKnown(accountId, hash))) return yield* unknownCode()
      // The least recently used connections may end, so pending uses are written first.
      const exchanging = Effect.andThen(lastUses.write, spendCode(accountId, hash, request))
      const { code, response } = yield* Effect.fromResult(yield* inTurn(accountId, exchanging))
      yield* notices.appAdded(accountId, code.clientName)
      return response
    })

    // A refusal is returned here, too.
    const replaceToken = Effect.fnUntraced(function* (accountId: AccountId, hash: Uint8Array, request: RefreshRequest) {
      const token = Option.getOrUndefined(yield* repo.lock(accountId, hash))
      if (token === undefined) return Result.fail(unknownToken())
      const fault = refreshFault(token, request, baseUrl)
      if (fault !== undefined) return Result.fail(fault)
      const { connectionId, generation } = token
      if (generation < token.currentGeneration || (generation === token.currentGeneration && token.isForked)) {
        yield* grants.revoke(accountId, connectionId)
        return Result.fail(unknownToken())
      }
      yield* throttle.spend([{ bucket: `refresh:connection:${connectionId}`, perHour: refreshesPerHour }])
      yield* grants.advance(accountId, connectionId, { generation, hash })
      yield* clients.keep(token.clientId)
      const scope = request.scope ?? token.scope
      return Result.succeed(yield* issue(accountId, { connectionId, generation: generation + 1, scope }))
    }, transact(sql))

    /**
     * Exchanges a refresh token for the next two tokens (RFC 6749 section 6). A token stays valid until one that replaced it
     * is used, because responses get lost and programs that share a token refresh at the same time. Each program can continue
     * with its own response for as long as they refresh at about the same time. Any later use of a replaced token ends the
     * connection, because the token may have been stolen.
     */
    const refresh = traced("ClientTokens.refresh")(function* (request: RefreshRequest) {
      const accountId = Option.getOrUndefined(accountOfToken(request.refreshToken, refreshTokenPrefix))
      if (accountId === undefined) return yield* unknownToken()
      const hash = yield* tokens.hash(request.refreshToken)
      if (!(yield* repo.isKnown(accountId, hash))) return yield* unknownToken()
      return yield* Effect.fromResult(yield* inTurn(accountId, replaceToken(accountId, hash, request)))
    })

    /** Revokes a token (RFC 7009), or a refresh token's whole connection. Another client's token counts as unknown. */
    const revoke = traced("ClientTokens.revoke")(function* (clientId: string, token: string) {
      const accountId = Option.getOrUndefined(
        Option.orElse(accountOfToken(token, accessTokenPrefix), () => accountOfToken(token, refreshTokenPrefix))
      )
      if (accountId === undefined) return
      const hash = yield* tokens.hash(token)
      const found = Option.getOrUndefined(yield* repo.lock(accountId, hash))
      if (found?.clientId !== clientId) return
      if (found.kind === "access") yield* repo.remove(accountId, hash)
      else yield* grants.revoke(accountId, found.connectionId)
    }, transact(sql))

    return { exchangeCode, refresh, revoke, prune: repo.prune }
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
