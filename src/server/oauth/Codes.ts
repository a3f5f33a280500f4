import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { SignInThrottle } from "../accounts/SignInThrottle.ts"
import { Tokens } from "../Tokens.ts"
import { CodesRepo, type AllowedCode } from "./CodesRepo.ts"

/** A person connects a few clients, each perhaps several times; who sends the same form again and again is no person. */
const codesPerHour = 60

/** Authorization codes: what the consent page gives a client to fetch its tokens with, within 60 seconds. */
export class Codes extends Context.Service<
  Codes,
  {
    /** The text of a new code, so many an hour for an account. It is kept as SHA-256 only. */
    readonly issue: (allowed: Omit<AllowedCode, "connectionId">) => Effect.Effect<string, RateLimited | Unavailable>
    /** Forgets a batch of codes that have been over for a day; gives how many. */
    readonly prune: (rows: number) => Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/oauth/Codes") {
  static readonly layerNoDeps = Layer.effect(
    Codes,
    Effect.gen(function* () {
      const repo = yield* CodesRepo
      const tokens = yield* Tokens
      const throttle = yield* SignInThrottle
      const random = yield* SecureRandom.SecureRandom

      const issue = Effect.fn("Codes.issue")(function* (allowed: Omit<AllowedCode, "connectionId">) {
        yield* throttle.spend([{ bucket: `code:account:${allowed.accountId}`, perHour: codesPerHour }])
        const code = yield* tokens.make(allowed.accountId)
        const connectionId = yield* Effect.orDie(random.uuidV4())
        yield* repo.insert({ ...allowed, connectionId, hash: yield* tokens.hash(code) })
        return code
      })

      return Codes.of({ issue, prune: repo.prune })
    })
  )

  static readonly layer = Codes.layerNoDeps.pipe(Layer.provide([CodesRepo.layer, SignInThrottle.layer, Tokens.layer]))
}
