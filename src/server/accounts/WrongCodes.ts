import { Context, Effect, Layer } from "effect"
import type { Email } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { pace } from "../keys/Buckets.ts"
import { SignInThrottleRepo } from "./SignInThrottleRepo.ts"

/** How many wrong codes a day an e-mail address may get, whoever types them, before its codes are looked at no more. */
const wrongCodesPerDay = 20

const daySeconds = 86_400
const daily = pace(wrongCodesPerDay, daySeconds)
const bucketOf = (email: Email): string => `wrong-code:email:${email}`

/**
 * Counts wrong codes of an e-mail address over all its sign-ins: six digits would be guessed in the end if every new
 * sign-in allowed five more. Known and unknown addresses are treated alike.
 */
export class WrongCodes extends Context.Service<
  WrongCodes,
  {
    /** Whether only the mailed link signs in. */
    readonly isUsedUp: (email: Email) => Effect.Effect<boolean, Unavailable>
    /** {@link isUsedUp}, and makes others who try a code of the address wait until the transaction ends. */
    readonly lock: (email: Email) => Effect.Effect<boolean, Unavailable>
    readonly count: (email: Email) => Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/accounts/WrongCodes") {
  static readonly layer = Layer.effect(
    WrongCodes,
    Effect.gen(function* () {
      const repo = yield* SignInThrottleRepo

      const isEmpty = (ahead: number): boolean => ahead * 1_000_000 > (daily.burst - 1) * daily.interval

      const isUsedUp = Effect.fn("WrongCodes.isUsedUp")(function* (email: Email) {
        return isEmpty(yield* repo.ahead(bucketOf(email), daySeconds))
      })

      const lock = Effect.fn("WrongCodes.lock")(function* (email: Email) {
        const [state] = yield* repo.lock([bucketOf(email)], daySeconds)
        return isEmpty(state?.ahead ?? 0)
      })

      const count = Effect.fn("WrongCodes.count")((email: Email) => repo.spend(bucketOf(email), daily.interval))

      return WrongCodes.of({ isUsedUp, lock, count })
    })
  ).pipe(Layer.provide(SignInThrottleRepo.layer))
}
