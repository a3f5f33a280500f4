import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { RateLimited, type Unavailable } from "../../domain/Problem.ts"
import { pace, retryAfter } from "../keys/Buckets.ts"
import { transact } from "../sql/SqlFailure.ts"
import { SignInThrottleRepo } from "./SignInThrottleRepo.ts"

/** One bucket of a request: what is counted, and how often it may happen in an hour. */
export interface HourlyLimit {
  readonly bucket: string
  readonly perHour: number
}

const hourSeconds = 3600

/** Slows down sign-ins. A request that one bucket refuses spends none of the others either. */
export class SignInThrottle extends Context.Service<
  SignInThrottle,
  {
    readonly spend: (limits: ReadonlyArray<HourlyLimit>) => Effect.Effect<void, RateLimited | Unavailable>
    /** Forgets a batch of buckets that are full again; gives how many. */
    readonly prune: Effect.Effect<number, Unavailable>
  }
>()("agent-memory/server/accounts/SignInThrottle") {
  static readonly layerNoDeps = Layer.effect(
    SignInThrottle,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* SignInThrottleRepo

      const spend = Effect.fn("SignInThrottle.spend")(function* (limits: ReadonlyArray<HourlyLimit>) {
        const buckets = limits.map(({ bucket }) => bucket)
        const states = yield* repo.lock(buckets, hourSeconds)
        const paced = limits.map((limit) => ({ ...limit, pace: pace(limit.perHour, hourSeconds) }))
        const refused = paced
          .map((limit) => ({ ...limit, ahead: states.find(({ bucket }) => bucket === limit.bucket)?.ahead ?? 0 }))
          .filter(({ pace, ahead }) => ahead * 1_000_000 > (pace.burst - 1) * pace.interval)
          .map(({ perHour, pace, ahead }) => ({ limit: perHour, retry_after: retryAfter(pace, ahead) }))
          .toSorted((one, other) => other.retry_after - one.retry_after)[0]
        if (refused !== undefined) {
          return yield* new RateLimited({
            ...refused,
            detail: `At most ${refused.limit} of these requests an hour.`,
            hint: "Wait `retry_after` seconds; the last link that was sent may still be valid."
          })
        }
        yield* Effect.forEach(paced, ({ bucket, pace }) => repo.spend(bucket, pace.interval), { discard: true })
      }, transact(sql))

      return SignInThrottle.of({ spend, prune: repo.prune })
    })
  )

  static readonly layer = SignInThrottle.layerNoDeps.pipe(Layer.provide(SignInThrottleRepo.layer))
}
