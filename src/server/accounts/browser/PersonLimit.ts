import { Context, DateTime, Effect, Layer } from "effect"
import type { AccountId } from "../../../domain/Account.ts"
import { RateLimited } from "../../../domain/Problem.ts"
import * as Buckets from "../../capacity/Buckets.ts"
import { Settings } from "../../config/Settings.ts"
import * as Metrics from "../../telemetry/Metrics.ts"

/**
 * Bounds what a signed-in person requests, from all their browsers together. Their agents have other limits, so that a person
 * can still stop an agent that has used all of its own. The buckets are in memory: each process lets through as much.
 */
export class PersonLimit extends Context.Service<PersonLimit>()("agent-memory/server/accounts/browser/PersonLimit", {
  make: Effect.gen(function* () {
    const { limits } = yield* Settings
    const buckets = Buckets.make()
    const perMinute = { read: limits.personReadsPerMinute, write: limits.personWritesPerMinute }

    /** Spends a request of the account's person, or fails with how long to wait. */
    const spend = Effect.fnUntraced(function* (accountId: AccountId, wanted: "read" | "write") {
      const pace = Buckets.pace(perMinute[wanted], 60)
      const { ahead, allowed } = buckets.take(`${accountId}/${wanted}`, pace, yield* DateTime.nowAsDate)
      yield* Metrics.rateLimitVerdict(wanted, allowed ? "Passed" : "Limited")
      if (allowed) return
      return yield* new RateLimited({
        detail: `A person can make ${perMinute[wanted]} ${wanted}s a minute here.`,
        limit: perMinute[wanted],
        retry_after: Buckets.retryAfter(pace, ahead)
      })
    })

    return { spend }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
