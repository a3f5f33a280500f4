import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import type { Email, Verified } from "../../domain/Account.ts"
import {
  invalidToken,
  notASignInToken,
  type InvalidToken,
  type RateLimited,
  type Unavailable
} from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { signInTokenOf } from "../../domain/Token.ts"
import { Keys } from "../keys/Keys.ts"
import { transact } from "../sql/SqlFailure.ts"
import { Tokens } from "../Tokens.ts"
import { AccountsRepo, type OpenLink } from "./AccountsRepo.ts"
import { Owners } from "./Owners.ts"
import { tryLimits } from "./SignInLimits.ts"
import { SignInLinks, type SentLink } from "./SignInLinks.ts"
import { SignInThrottle } from "./SignInThrottle.ts"

/** Signs people in by links sent to their address. The first sign-in makes the account. */
export class Accounts extends Context.Service<
  Accounts,
  {
    /** Sends a link. Known and unknown addresses are treated alike, and whether the mail arrives is not told. */
    readonly requestLink: (input: {
      readonly email: Email
      readonly ip: string
    }) => Effect.Effect<SentLink, RateLimited | Unavailable>
    /** Whom a link would sign in. Spends nothing. */
    readonly findLink: (token: string) => Effect.Effect<Option.Option<OpenLink>, Unavailable>
    /** Whether a newer mail to its address took a link's place. */
    readonly isReplaced: (token: string) => Effect.Effect<boolean, Unavailable>
    /** Spends a link for a new key, if it was not asked for in a browser. Of any number of parallel attempts exactly one succeeds. */
    readonly verify: (input: {
      readonly token: string
      readonly ip: string
    }) => Effect.Effect<Verified, InvalidToken | RateLimited | Unavailable>
    /** Forgets a batch of what sign-ins leave behind: links that are over, limits that are full again. Gives how much. */
    readonly prune: Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/Accounts") {
  static readonly layerNoDeps = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* AccountsRepo
      const throttle = yield* SignInThrottle
      const keys = yield* Keys
      const links = yield* SignInLinks
      const owners = yield* Owners
      const tokens = yield* Tokens
      const { limits } = yield* Settings

      const requestLink = Effect.fn("Accounts.requestLink")((input: { readonly email: Email; readonly ip: string }) =>
        links.send(input)
      )

      const findLink = Effect.fn("Accounts.findLink")(function* (token: string) {
        return yield* repo.findLink(yield* tokens.hash(token))
      })

      const isReplaced = Effect.fn("Accounts.isReplaced")(function* (token: string) {
        return yield* repo.isReplaced(yield* tokens.hash(token))
      })

      const spend = Effect.fnUntraced(function* (token: string) {
        const link = yield* repo.spendLink(yield* tokens.hash(token))
        if (Option.isNone(link) || !(yield* owners.maySignIn(link.value.email))) return yield* invalidToken()
        const account_id = yield* owners.accountOf(link.value.email)
        const { api_key } = yield* keys.issue(account_id, `magic link ${link.value.day}`)
        return { api_key, account_id }
      }, transact(sql))

      const verify = Effect.fn("Accounts.verify")(function* (input: { readonly token: string; readonly ip: string }) {
        yield* throttle.spend(tryLimits(limits, input.ip))
        const token = signInTokenOf(input.token)
        return yield* Option.isNone(token) ? notASignInToken() : spend(token.value)
      })

      const prune = Effect.zipWith(repo.pruneLinks, throttle.prune, (links, buckets) => links + buckets).pipe(
        Effect.withSpan("Accounts.prune")
      )

      return Accounts.of({ requestLink, findLink, isReplaced, verify, prune })
    })
  )

  static readonly layer = Accounts.layerNoDeps.pipe(
    Layer.provide([AccountsRepo.layer, SignInThrottle.layer, SignInLinks.layer, Owners.layer, Tokens.layer])
  )
}
