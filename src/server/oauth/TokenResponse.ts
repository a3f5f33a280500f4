import { Effect } from "effect"
import { accessTokenPrefix, type AccountId, refreshTokenPrefix } from "../../domain/Account.ts"
import { Unavailable } from "../../domain/Problem.ts"
import type { Tokens } from "../accounts/Tokens.ts"
import { makeRoom } from "../capacity/Room.ts"
import type { TokensRepo } from "./ClientTokens.ts"

/** The response to a code or a refresh token (RFC 6749 section 5.1). Its tokens are shown only once. */
interface TokenResponse {
  readonly access_token: string
  readonly token_type: "Bearer"
  readonly expires_in: number
  readonly refresh_token: string
  readonly scope: string
}

/** Creates the next two tokens of a connection. */
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
    expires_in: repo.accessTokenSeconds,
    refresh_token: refresh,
    scope
  } satisfies TokenResponse
})

/**
 * Serialises the exchanges of an account. In the database they would wait for each other's locks, each holding a connection
 * that others need. Only senders of a known code or token take a turn, because an account's id is not secret.
 */
export const makeTurns = () => {
  const turns = makeRoom({ total: 8, perAccount: 1, patience: "2 seconds" })
  return <A, E, R>(accountId: AccountId, exchange: Effect.Effect<A, E, R>) =>
    Effect.scoped(Effect.andThen(turns.take(accountId, 1), exchange)).pipe(
      Effect.catchTag("Busy", () =>
        Effect.fail(new Unavailable({ detail: "Too many concurrent token requests for this account." }))
      )
    )
}

export type Turns = ReturnType<typeof makeTurns>
