import { Effect } from "effect"
import type { AccountId } from "../../../domain/Account.ts"
import { accessTokenPrefix, refreshTokenPrefix } from "../../../domain/Token.ts"
import type { Tokens } from "../../Tokens.ts"
import { accessTokenSeconds, type TokensRepo } from "../TokensRepo.ts"

/** What a client gets for a code or a refresh token (RFC 6749 section 5.1). Its tokens are shown this once. */
interface TokenAnswer {
  readonly access_token: string
  readonly token_type: "Bearer"
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

/** Makes the next two tokens of a connection. */
export const issueTokens = Effect.fnUntraced(function* (
  { repo, tokens }: { readonly repo: TokensRepo["Service"]; readonly tokens: Tokens["Service"] },
  connection: {
    readonly accountId: AccountId
    readonly connectionId: string
    readonly generation: number
    readonly scope: string
  }
) {
  const { accountId, connectionId, generation, scope } = connection
  const access = yield* tokens.make(accountId, accessTokenPrefix)
  const refresh = yield* tokens.make(accountId, refreshTokenPrefix)
  const [accessHash, refreshHash] = [yield* tokens.hash(access), yield* tokens.hash(refresh)]
  yield* repo.insert({ accountId, connectionId, generation, accessHash, refreshHash })
  return {
    access_token: access,
    token_type: "Bearer",
    expires_in: accessTokenSeconds,
    refresh_token: refresh,
    scope
  } satisfies TokenAnswer
})
