import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { accessTokenPrefix, accountOfToken, refreshTokenPrefix } from "../../domain/Token.ts"
import { Notices } from "../accounts/Notices.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { LastUses } from "../keys/LastUses.ts"
import { transact } from "../sql/SqlFailure.ts"
import { Tokens } from "../Tokens.ts"
import { CodesRepo } from "./CodesRepo.ts"
import { ConnectionsRepo } from "./ConnectionsRepo.ts"
import { makeAuthorizationCodeGrant } from "./grants/AuthorizationCode.ts"
import { makeRefreshTokenGrant } from "./grants/RefreshToken.ts"
import { makeTurns } from "./grants/Turns.ts"
import { TokensRepo } from "./TokensRepo.ts"

/** The tokens that clients hold: an access token for an hour, a refresh token for 90 days, kept as SHA-256 only. */
export class ClientTokens extends Context.Service<
  ClientTokens,
  {
    readonly exchangeCode: Effect.Success<ReturnType<typeof makeAuthorizationCodeGrant>>
    readonly refresh: Effect.Success<ReturnType<typeof makeRefreshTokenGrant>>
    /**
     * Gives a token back (RFC 7009): with a refresh token its whole connection ends. Another client's token stays as it
     * is, and is not told from an unknown one.
     */
    readonly revoke: (input: { readonly clientId: string; readonly token: string }) => Effect.Effect<void, Unavailable>
    /** Forgets a batch of tokens that are over; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/ClientTokens") {
  static readonly layerNoDeps = Layer.effect(
    ClientTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const connections = yield* ConnectionsRepo
      const repo = yield* TokensRepo
      const tokens = yield* Tokens

      const revoke = Effect.fn("ClientTokens.revoke")(function* (input: {
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
        else yield* connections.revoke(accountId.value, found.value.connectionId)
      }, transact(sql))

      const inTurn = makeTurns()

      return ClientTokens.of({
        exchangeCode: yield* makeAuthorizationCodeGrant(inTurn),
        refresh: yield* makeRefreshTokenGrant(inTurn),
        revoke,
        prune: repo.prune
      })
    })
  )

  static readonly layer = ClientTokens.layerNoDeps.pipe(
    Layer.provide([
      CodesRepo.layer,
      ConnectionsRepo.layer,
      LastUses.layer,
      TokensRepo.layer,
      Tokens.layer,
      SignInThrottle.layer,
      Notices.layer
    ])
  )
}
