import { Context, Effect, Layer, Option } from "effect"
import { SecureRandom } from "effect/crypto"
import { accountIdBytes, accountIdFrom, type AccountId, type Email } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import { AccountsRepo } from "./AccountsRepo.ts"

/** Knows whose account an address belongs to. */
export class Owners extends Context.Service<
  Owners,
  {
    /** Whether an address may sign in: it has an account, or `SIGN_UP` lets it have one. */
    readonly maySignIn: (email: Email) => Effect.Effect<boolean, Unavailable>
    /**
     * The account of an address whose owner has just shown that he reads its mail; it is made if there is none. To be run
     * in the transaction that spends the proof.
     */
    readonly accountOf: (email: Email) => Effect.Effect<AccountId, Unavailable>
  }
>()("agent-memory/server/accounts/Owners") {
  static readonly layerNoDeps = Layer.effect(
    Owners,
    Effect.gen(function* () {
      const repo = yield* AccountsRepo
      const random = yield* SecureRandom.SecureRandom
      const { signUp } = yield* Settings

      const maySignUp = (email: Email): boolean =>
        signUp === "open" || (signUp !== "closed" && signUp.includes(email.slice(email.indexOf("@") + 1)))

      const maySignIn = Effect.fn("Owners.maySignIn")(function* (email: Email) {
        return maySignUp(email) || Option.isSome(yield* repo.findAccount(email))
      })

      const accountOf = Effect.fn("Owners.accountOf")(function* (email: Email) {
        const known = yield* repo.findAccount(email)
        if (Option.isSome(known)) return known.value
        const fresh = accountIdFrom(yield* Effect.orDie(random.randomBytes(accountIdBytes)))
        const owner = yield* repo.claimEmail(email, fresh)
        if (owner === fresh) yield* repo.insertAccount(fresh)
        return owner
      })

      return Owners.of({ maySignIn, accountOf })
    })
  )

  static readonly layer = Owners.layerNoDeps.pipe(Layer.provide(AccountsRepo.layer))
}
