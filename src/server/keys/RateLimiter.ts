import { Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import type { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import * as Buckets from "./Buckets.ts"
import { RateLimiterRepo } from "./RateLimiterRepo.ts"

/** Writes are the calls that change rows or keys; everything else under `/v1` is a read. */
export type RequestClass = "read" | "write"

interface Spending {
  readonly class: RequestClass
  readonly limit: number
}

/** Refused; `retryAfter` (whole seconds) is when the next request of the class is let in. */
export interface Limited extends Spending {
  readonly _tag: "Limited"
  readonly retryAfter: number
}

/** Let in; `reset` (whole seconds) is when all of `limit` can be spent again. */
export interface Passed extends Spending {
  readonly _tag: "Passed"
  /** The database's clock. */
  readonly now: Date
  readonly remaining: number
  readonly reset: number
}

/** {@link Passed}, and whose request it is. */
interface Admitted extends Omit<Passed, "_tag"> {
  readonly _tag: "Admitted"
  readonly key: { readonly accountId: AccountId; readonly id: KeyId; readonly name: string }
}

/** What becomes of a request that showed a key: `Unknown` is an unknown key or a revoked one. */
export type Admission = { readonly _tag: "Unknown" } | Limited | Admitted

/**
 * Lets requests in, key by key and class by class: a token bucket that holds a minute's worth and refills evenly (the
 * generic cell rate algorithm). A refused request spends nothing.
 */
export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Finds the key by its SHA-256, and spends one request of it. */
    readonly admit: (input: {
      readonly accountId: AccountId
      readonly hash: Uint8Array
      readonly class: RequestClass
    }) => Effect.Effect<Admission, Unavailable>
    /** Spends one request of something that was authenticated otherwise, such as a connection. */
    readonly spend: (input: {
      readonly accountId: AccountId
      readonly id: string
      readonly class: RequestClass
    }) => Effect.Effect<Passed | Limited, Unavailable>
    /** What a key or connection may still spend at once. Spends nothing. */
    readonly remaining: (input: {
      readonly accountId: AccountId
      readonly id: string
    }) => Effect.Effect<{ readonly writes: number; readonly reads: number }, Unavailable>
  }
>()("agent-memory/server/keys/RateLimiter") {
  /**
   * Buckets in PostgreSQL, exact over any number of instances: one statement finds the key, takes the token and keeps
   * `last_used_at`. It writes an unlogged table, so that it does not wait for the disk.
   */
  static readonly layerPostgresNoDeps = Layer.effect(
    RateLimiter,
    Effect.gen(function* () {
      const repo = yield* RateLimiterRepo
      const paces = pacesOf((yield* Settings).limits)

      const admit: RateLimiter["Service"]["admit"] = Effect.fn("RateLimiter.admit")(function* (input) {
        const pace = paces[input.class]
        const found = yield* repo.admit({ ...input, ...pace })
        if (Option.isNone(found)) return { _tag: "Unknown" } as const
        const { id, name } = found.value
        return admission({ accountId: input.accountId, id, name }, judge(input.class, pace, found.value))
      })

      const spend: RateLimiter["Service"]["spend"] = Effect.fn("RateLimiter.spend")(function* (input) {
        const pace = paces[input.class]
        return judge(input.class, pace, yield* repo.spend({ ...input, ...pace }))
      })

      const remaining: RateLimiter["Service"]["remaining"] = Effect.fn("RateLimiter.remaining")(function* (input) {
        const buckets = yield* repo.buckets(input)
        const left = (wanted: RequestClass) =>
          Buckets.remaining(paces[wanted], buckets.find((bucket) => bucket.class === wanted)?.ahead ?? 0)
        return { writes: left("write"), reads: left("read") }
      })

      return RateLimiter.of({ admit, spend, remaining })
    })
  )

  static readonly layerPostgres = RateLimiter.layerPostgresNoDeps.pipe(Layer.provide(RateLimiterRepo.layer))

  /** Buckets in this process: exact for one instance only. Keys are still found in PostgreSQL. */
  static readonly layerMemoryNoDeps = Layer.effect(
    RateLimiter,
    Effect.gen(function* () {
      const repo = yield* RateLimiterRepo
      const { limits } = yield* Settings
      const buckets = Buckets.make()
      const bucketOf = ({ accountId, id }: Owner, wanted: RequestClass) => `${accountId}/${id}/${wanted}`

      return RateLimiter.of(
        makeOver(repo, limits, {
          take: (owner, wanted, pace, now) => Effect.sync(() => buckets.take(bucketOf(owner, wanted), pace, now)),
          ahead: (owner) =>
            Effect.map(repo.now, (now) => ({
              write: buckets.ahead(bucketOf(owner, "write"), now),
              read: buckets.ahead(bucketOf(owner, "read"), now)
            }))
        })
      )
    })
  )

  static readonly layerMemory = RateLimiter.layerMemoryNoDeps.pipe(Layer.provide(RateLimiterRepo.layer))
}

/** Whose buckets are meant: those of a key, or of a connection. */
export interface Owner {
  readonly accountId: AccountId
  readonly id: string
}

/** Where buckets are kept, when it is not where keys are found. */
export interface BucketStore<E> {
  readonly take: (
    owner: Owner,
    wanted: RequestClass,
    pace: Buckets.Pace,
    now: Date
  ) => Effect.Effect<Buckets.Verdict, E>
  /** In how many seconds each bucket is full again. */
  readonly ahead: (owner: Owner) => Effect.Effect<Record<RequestClass, number>, E>
}

/** A limiter that finds keys in PostgreSQL on every request, and keeps its buckets in `store`. */
export const makeOver = <E>(
  repo: RateLimiterRepo["Service"],
  limits: Parameters<typeof pacesOf>[0],
  store: BucketStore<E>
) => {
  const paces = pacesOf(limits)

  const take = (owner: Owner, wanted: RequestClass, now: Date) =>
    Effect.map(store.take(owner, wanted, paces[wanted], now), (verdict) => judge(wanted, paces[wanted], verdict))

  const admit = Effect.fn("RateLimiter.admit")(function* (input: Parameters<RateLimiter["Service"]["admit"]>[0]) {
    const found = yield* repo.findKey(input)
    if (Option.isNone(found)) return { _tag: "Unknown" } as const
    const { id, name, now } = found.value
    const key = { accountId: input.accountId, id, name }
    return admission(key, yield* take(key, input.class, now))
  })

  const spend = Effect.fn("RateLimiter.spend")(function* (input: Owner & { readonly class: RequestClass }) {
    return yield* take(input, input.class, yield* repo.now)
  })

  const remaining = Effect.fn("RateLimiter.remaining")(function* (owner: Owner) {
    const ahead = yield* store.ahead(owner)
    return {
      writes: Buckets.remaining(paces.write, ahead.write),
      reads: Buckets.remaining(paces.read, ahead.read)
    }
  })

  return { admit, spend, remaining }
}

const pacesOf = (limits: { readonly writesPerMinute: number; readonly readsPerMinute: number }) => ({
  write: Buckets.pace(limits.writesPerMinute, 60),
  read: Buckets.pace(limits.readsPerMinute, 60)
})

const judge = (wanted: RequestClass, pace: Buckets.Pace, verdict: Buckets.Verdict): Passed | Limited =>
  verdict.allowed
    ? {
        _tag: "Passed",
        class: wanted,
        limit: pace.burst,
        now: verdict.now,
        remaining: Buckets.remaining(pace, verdict.ahead),
        reset: Math.ceil(verdict.ahead)
      }
    : { _tag: "Limited", class: wanted, limit: pace.burst, retryAfter: Buckets.retryAfter(pace, verdict.ahead) }

const admission = (key: Admitted["key"], verdict: Passed | Limited): Limited | Admitted =>
  verdict._tag === "Limited" ? verdict : { ...verdict, _tag: "Admitted", key }

/**
 * The header fields of an answer under a limit: `RateLimit-Policy` and `RateLimit` as in the IETF's draft
 * (draft-ietf-httpapi-ratelimit-headers), and `Retry-After` for a refusal. An unknown key has none.
 */
export const rateLimitHeaders = (admission: Admission | Passed): Record<string, string> => {
  if (admission._tag === "Unknown") return {}
  const policy = admission.class === "write" ? '"writes"' : '"reads"'
  const state =
    admission._tag === "Limited"
      ? `${policy};r=0;t=${admission.retryAfter}`
      : `${policy};r=${admission.remaining};t=${admission.reset}`
  return {
    "ratelimit-policy": `${policy};q=${admission.limit};w=60`,
    ratelimit: state,
    ...(admission._tag === "Limited" ? { "retry-after": String(admission.retryAfter) } : {})
  }
}
