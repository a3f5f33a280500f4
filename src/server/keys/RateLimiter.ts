import { Context, Effect, Layer } from "effect"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { refine, type DiskFull } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Traced.ts"
import {
  admission,
  judge,
  pacesOf,
  remaining,
  type Admission,
  type Limited,
  type Passed,
  type RequestClass
} from "./Admission.ts"
import { bucketsInProcess, known, makeOver, type AdmitInput, type Owner, type SpendInput } from "./BucketStores.ts"
import { makeAdmitInGroups, RateLimiterRepo } from "./RateLimiterRepo.ts"

/**
 * Admits requests by class: each takes a token from the bucket of its key, connection or link, and one from its account's.
 * A bucket has a minute's tokens and refills evenly (generic cell rate algorithm). A refused request takes none.
 */
export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Finds the key by its SHA-256 and spends a request of it and of its account. */
    readonly admit: (input: AdmitInput) => Effect.Effect<Admission, Unavailable>
    /** Spends a request of a connection or link, which the caller has authenticated, and of its account. */
    readonly spend: (input: SpendInput) => Effect.Effect<Passed | Limited, Unavailable>
    /** The requests that a key or connection and its account can spend at once. Spends nothing. */
    readonly remaining: (
      input: Owner
    ) => Effect.Effect<{ readonly writes: number; readonly reads: number }, Unavailable>
  }
>()("agent-memory/server/keys/RateLimiter") {
  /**
   * Buckets in PostgreSQL, exact over any number of instances. One statement finds the keys of concurrent requests and takes
   * their tokens. It writes an unlogged table only, so that no request waits for the disk. While the disk is full, reads are
   * counted in this process, with full buckets at first.
   */
  static readonly layerPostgres = Layer.effect(
    RateLimiter,
    Effect.gen(function* () {
      const repo = yield* RateLimiterRepo
      const { limits } = yield* Settings
      const paces = pacesOf(limits)
      const admitInGroups = yield* makeAdmitInGroups(repo, paces)
      const inProcess = yield* makeOver(repo, limits, bucketsInProcess(repo))

      // With a full disk a write would fail after its admission anyway.
      const whereDiskIsFull = <Input extends { readonly class: RequestClass }, A>(
        read: (input: Input) => Effect.Effect<A, Unavailable>,
        input: Input,
        { failure }: DiskFull
      ): Effect.Effect<A, Unavailable> =>
        input.class === "write"
          ? refine(Effect.fail(failure))
          : Effect.andThen(
              Effect.logWarning("The database's disk is full: a read is counted in this process"),
              read(input)
            )

      const admit = traced("RateLimiter.admit")(function* (input: AdmitInput) {
        const { accountId, class: wanted, hash } = input
        const taken = yield* admitInGroups({ accountId, sender: { hash }, class: wanted })
        if (taken._tag === "Unknown") return taken
        const key = { accountId, id: KeyId.make(taken.id), name: taken.name }
        return admission(key, judge(wanted, paces[wanted], taken))
      })

      const spend = traced("RateLimiter.spend")(function* (input: SpendInput) {
        const { accountId, class: wanted, id } = input
        const taken = yield* admitInGroups({ accountId, sender: { id }, class: wanted })
        return judge(wanted, paces[wanted], yield* known(taken))
      })

      const left: RateLimiter["Service"]["remaining"] = traced("RateLimiter.remaining")(function* (input) {
        const { read, write } = yield* repo.ahead(input)
        return { writes: remaining(paces.write, write), reads: remaining(paces.read, read) }
      })

      return RateLimiter.of({
        admit: (input) =>
          Effect.catchTag(admit(input), "DiskFull", (full) => whereDiskIsFull(inProcess.admit, input, full)),
        spend: (input) =>
          Effect.catchTag(spend(input), "DiskFull", (full) => whereDiskIsFull(inProcess.spend, input, full)),
        remaining: left
      })
    })
  ).pipe(Layer.provide(RateLimiterRepo.layer))
}
