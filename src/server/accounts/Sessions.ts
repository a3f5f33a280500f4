import { Context, Effect, Layer, Option } from "effect"
import type { AccountId, Email } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { accountOfToken } from "../../domain/Token.ts"
import { Tokens } from "../Tokens.ts"
import { SessionsRepo } from "./SessionsRepo.ts"

/** How long a browser stays signed in at most; one that is not used for a week is signed out before. */
export const sessionDays = 30

/** A browser that is signed in. Whoever has the token is it: it belongs in the browser's cookie and nowhere else. */
export interface Session {
  readonly accountId: AccountId
  /** The address that was signed in with. */
  readonly email: Email
  readonly token: string
  readonly expiresAt: Date
}

/**
 * Browsers that are signed in. A session opens nothing but the pages of sign-in, consent and connections: it is no API
 * key.
 */
export class Sessions extends Context.Service<
  Sessions,
  {
    readonly open: (accountId: AccountId, email: Email) => Effect.Effect<Session, Unavailable>
    /** The session of a token. None tells nothing of why: unknown, over, ended, or no token at all. */
    readonly find: (token: string) => Effect.Effect<Option.Option<Session>, Unavailable>
    /** Signs the browser out, on every instance at once. */
    readonly end: (token: string) => Effect.Effect<void, Unavailable>
    /** Signs all browsers of the account out: one that was left somewhere, or stolen, can't be named. */
    readonly endAll: (accountId: AccountId) => Effect.Effect<void, Unavailable>
    /** Removes sessions that are over, at most so many; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/Sessions") {
  static readonly layerNoDeps = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const repo = yield* SessionsRepo
      const tokens = yield* Tokens

      const open = Effect.fn("Sessions.open")(function* (accountId: AccountId, email: Email) {
        const token = yield* tokens.make(accountId)
        const hash = yield* tokens.hash(token)
        const expiresAt = yield* repo.insert({ accountId, hash, email, days: sessionDays })
        const session: Session = { accountId, email, token, expiresAt }
        return session
      })

      const find = Effect.fn("Sessions.find")(function* (token: string) {
        const accountId = accountOfToken(token)
        if (Option.isNone(accountId)) return Option.none<Session>()
        const found = yield* repo.find(accountId.value, yield* tokens.hash(token))
        return Option.map(found, (kept): Session => ({ accountId: accountId.value, token, ...kept }))
      })

      const end = Effect.fn("Sessions.end")(function* (token: string) {
        const accountId = accountOfToken(token)
        if (Option.isSome(accountId)) yield* repo.remove(accountId.value, yield* tokens.hash(token))
      })

      return Sessions.of({ open, find, end, endAll: Effect.fn("Sessions.endAll")(repo.removeAll), prune: repo.prune })
    })
  )

  static readonly layer = Sessions.layerNoDeps.pipe(Layer.provide([SessionsRepo.layer, Tokens.layer]))
}
