import { Effect, Option, Result } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../domain/Account.ts"
import { accountOfToken } from "../../../domain/Token.ts"
import { Notices } from "../../accounts/Notices.ts"
import { Settings } from "../../Config.ts"
import { transact } from "../../sql/SqlFailure.ts"
import { Tokens } from "../../Tokens.ts"
import { Clients } from "../Clients.ts"
import { CodesRepo, type FoundCode } from "../CodesRepo.ts"
import { LastUses } from "../../keys/LastUses.ts"
import { ConnectionsRepo } from "../ConnectionsRepo.ts"
import { invalidGrant, invalidRequest, invalidTarget, type OAuthProblem } from "../OAuthProblem.ts"
import { isChallengeOf } from "../Pkce.ts"
import { isOurResource } from "../Resource.ts"
import { TokensRepo } from "../TokensRepo.ts"
import { issueTokens } from "./TokenAnswer.ts"
import type { Turns } from "./Turns.ts"

/** What the client sends: its id is authenticated already. */
interface CodeRequest {
  readonly clientId: string
  readonly code: string
  readonly verifier: string | null
  readonly redirectUri: string | null
  readonly resources: ReadonlyArray<string>
}

/** Clients come back as new ones: beyond these, an account's longest unused connections end. */
const maxConnections = 100

type Check = (code: FoundCode, request: CodeRequest, baseUrl: string) => OAuthProblem | undefined

const unknown = () => invalidGrant("The code is unknown, was used already, or is over. Start the sign-in again.")

const isOfClient: Check = (code, { clientId }) => (code.clientId === clientId ? undefined : unknown())

const isFresh: Check = ({ isOver }) => (isOver ? unknown() : undefined)

/** OAuth 2.1 has no `redirect_uri` here any more; what a client does send must be what it sent before. */
const hasRedirect: Check = (code, { redirectUri }) =>
  redirectUri === null || redirectUri === code.redirectUri
    ? undefined
    : invalidGrant("redirect_uri is not the one that the code was asked for with.")

const hasVerifier: Check = ({ codeChallenge }, { verifier }) => {
  if (verifier === null) return invalidRequest("code_verifier is missing.")
  return isChallengeOf(codeChallenge, verifier)
    ? undefined
    : invalidGrant("code_verifier does not belong to the code_challenge that the code was asked for with.")
}

const hasResource: Check = (_code, { resources }, baseUrl) =>
  resources.every((resource) => isOurResource(baseUrl, resource)) ? undefined : invalidTarget()

const checks: ReadonlyArray<Check> = [isOfClient, isFresh, hasRedirect, hasVerifier, hasResource]

/**
 * Exchanges a code for the first tokens of a new connection (RFC 6749 section 4.1.3, RFC 7636). A code works once; who
 * shows it again ends the connection that came of it, since one of the two stole it.
 */
export const makeAuthorizationCodeGrant = Effect.fnUntraced(function* (inTurn: Turns) {
  const sql = yield* SqlClient.SqlClient
  const codes = yield* CodesRepo
  const connections = yield* ConnectionsRepo
  const repo = yield* TokensRepo
  const tokens = yield* Tokens
  const clients = yield* Clients
  const notices = yield* Notices
  const lastUses = yield* LastUses
  const { baseUrl } = yield* Settings

  // A refusal is a value here: as a failure it would undo what it has changed.
  const exchange = Effect.fnUntraced(function* (accountId: AccountId, hash: Uint8Array, request: CodeRequest) {
    const code = Option.getOrUndefined(yield* codes.lock(accountId, hash))
    if (code === undefined) return Result.fail(unknown())
    if (code.isSpent) {
      yield* connections.revoke(accountId, code.connectionId)
      return Result.fail(unknown())
    }
    for (const check of checks) {
      const fault = check(code, request, baseUrl)
      if (fault !== undefined) return Result.fail(fault)
    }
    yield* codes.spend(accountId, hash)
    yield* connections.insert(code)
    yield* connections.keepNewest(accountId, maxConnections)
    yield* clients.keep(code.clientId)
    return Result.succeed({ code, answer: yield* issueTokens({ repo, tokens }, { ...code, generation: 0 }) })
  }, transact(sql))

  return Effect.fn("AuthorizationCodeGrant.exchange")(function* (request: CodeRequest) {
    const accountId = Option.getOrUndefined(accountOfToken(request.code))
    if (accountId === undefined) return yield* unknown()
    const hash = yield* tokens.hash(request.code)
    if (!(yield* codes.isKnown(accountId, hash))) return yield* unknown()
    // The connections that were used the longest ago may have to go.
    const exchanging = Effect.andThen(lastUses.write, exchange(accountId, hash, request))
    const { answer, code } = yield* Effect.fromResult(yield* inTurn(accountId, exchanging))
    yield* notices.appAdded(code.accountId, code.clientName)
    return answer
  })
})
