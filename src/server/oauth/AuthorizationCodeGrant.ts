import { Effect, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, timingSafeEqual } from "node:crypto"
import { type AccountId, accountOfToken } from "../../domain/Account.ts"
import { Notices } from "../accounts/Notices.ts"
import { Tokens } from "../accounts/Tokens.ts"
import { Settings } from "../config/Settings.ts"
import { LastUses } from "../keys/LastUses.ts"
import { transact } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Clients } from "./Clients.ts"
import { Codes, type FoundCode } from "./Codes.ts"
import { Grants } from "./Grants.ts"
import { isOurResource } from "./ServerMetadata.ts"
import { invalidGrant, invalidRequest, invalidTarget, type OAuthProblem } from "./OAuthProblem.ts"
import { issueTokens, type Turns } from "./TokenResponse.ts"
import { TokensRepo } from "./ClientTokens.ts"

/** Whether a text is a challenge of the method S256: 32 bytes in base64url (RFC 7636 section 4.2). */
export const isChallenge = (text: string): boolean => /^[A-Za-z0-9_-]{43}$/.test(text)

/** Whether the challenge was made from the verifier. */
const isChallengeOf = (challenge: string, verifier: string): boolean => {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false
  const made = createHash("sha256").update(verifier).digest()
  const given = Buffer.from(challenge, "base64url")
  return given.length === made.length && timingSafeEqual(given, made)
}

/** The request of an authenticated client. */
export interface CodeRequest {
  readonly clientId: string
  readonly code: string
  readonly verifier: string | null
  readonly redirectUri: string | null
  readonly resources: ReadonlyArray<string>
}

/** Clients reconnect as new ones. Beyond this number, an account's least recently used connections end. */
const maxConnections = 100

type Check = (code: FoundCode, request: CodeRequest, baseUrl: string) => OAuthProblem | undefined

const unknown = () => invalidGrant("The code is unknown, expired, or already used. Start the sign-in again.")

const isFromClient: Check = (code, { clientId }) => (code.clientId === clientId ? undefined : unknown())

const isFresh: Check = ({ isExpired }) => (isExpired ? unknown() : undefined)

/** OAuth 2.1 no longer has `redirect_uri` here. If a client sends it, it must be the one of the authorization request. */
const hasRedirect: Check = (code, { redirectUri }) =>
  redirectUri === null || redirectUri === code.redirectUri
    ? undefined
    : invalidGrant("redirect_uri differs from the one in the authorization request.")

const hasVerifier: Check = ({ codeChallenge }, { verifier }) => {
  if (verifier === null) return invalidRequest("code_verifier is missing.")
  return isChallengeOf(codeChallenge, verifier)
    ? undefined
    : invalidGrant("code_verifier does not match the code_challenge of the authorization request.")
}

const hasResource: Check = (_code, { resources }, baseUrl) =>
  resources.every((resource) => isOurResource(baseUrl, resource)) ? undefined : invalidTarget()

const checks: ReadonlyArray<Check> = [isFromClient, isFresh, hasRedirect, hasVerifier, hasResource]

/**
 * Exchanges a code for the first tokens of a new connection (RFC 6749 section 4.1.3, RFC 7636). A code works once. A second
 * use ends the connection that the first one created, because one of the two senders stole the code.
 */
export const makeAuthorizationCodeGrant = Effect.fnUntraced(function* (inTurn: Turns) {
  const sql = yield* SqlClient.SqlClient
  const codes = yield* Codes
  const grants = yield* Grants
  const repo = yield* TokensRepo
  const tokens = yield* Tokens
  const clients = yield* Clients
  const notices = yield* Notices
  const lastUses = yield* LastUses
  const { baseUrl } = yield* Settings

  // A refusal is returned, not raised: a failure would roll back the revocation.
  const exchange = Effect.fnUntraced(function* (accountId: AccountId, hash: Uint8Array, request: CodeRequest) {
    const code = Option.getOrUndefined(yield* codes.lock(accountId, hash))
    if (code === undefined) return Result.fail(unknown())
    if (code.isSpent) {
      yield* grants.revoke(accountId, code.connectionId)
      return Result.fail(unknown())
    }
    for (const check of checks) {
      const fault = check(code, request, baseUrl)
      if (fault !== undefined) return Result.fail(fault)
    }
    yield* codes.spend(accountId, hash)
    yield* grants.insert(code)
    yield* grants.keepNewest(accountId, maxConnections)
    yield* clients.keep(code.clientId)
    return Result.succeed({ code, response: yield* issueTokens({ repo, tokens }, { ...code, generation: 0 }) })
  }, transact(sql))

  return traced("AuthorizationCodeGrant.exchange")(function* (request: CodeRequest) {
    const accountId = Option.getOrUndefined(accountOfToken(request.code))
    if (accountId === undefined) return yield* unknown()
    const hash = yield* tokens.hash(request.code)
    if (!(yield* codes.isKnown(accountId, hash))) return yield* unknown()
    // The least recently used connections may end, so pending uses are written first.
    const exchanging = Effect.andThen(lastUses.write, exchange(accountId, hash, request))
    const { code, response } = yield* Effect.fromResult(yield* inTurn(accountId, exchanging))
    yield* notices.appAdded(code.accountId, code.clientName)
    return response
  })
})
