import { Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import {
  admission,
  judge,
  pacesOf,
  remaining,
  type Admission,
  type Ahead,
  type Limited,
  type Paces,
  type Passed,
  type RequestClass,
  type Verdict
} from "./Admission.ts"
import * as Buckets from "./Buckets.ts"
import { RateLimiterRepo } from "./RateLimiterRepo.ts"

/** Whose buckets are meant: those of a key, connection or link, and of its account. */
interface Owner {
  readonly accountId: AccountId
  readonly id: string
}

interface AdmitInput {
  readonly accountId: AccountId
  readonly hash: Uint8Array
  readonly class: RequestClass
}

interface SpendInput extends Owner {
  readonly class: RequestClass
}

/**
 * Lets requests in, class by class: each takes a token from the bucket of its key, connection or link, and one from its
 * account's. A bucket holds a minute's worth and refills evenly (the generic cell rate algorithm). A refused request
 * takes nothing from either.
 */
export class RateLimiter extends Context.Service<
  RateLimiter,
  {
    /** Finds the key by its SHA-256, and spends one request of it and of its account. */
    readonly admit: (input: AdmitInput) => Effect.Effect<Admission, Unavailable>
    /** Spends one request of a connection or link, which was authenticated otherwise, and of its account. */
    readonly spend: (input: SpendInput) => Effect.Effect<Passed | Limited, Unavailable>
    /** What a key or connection may still spend at once, and its account as well. Spends nothing. */
    readonly remaining: (
      input: Owner
    ) => Effect.Effect<{ readonly writes: number; readonly reads: number }, Unavailable>
  }
>()("agent-memory/server/keys/RateLimiter") {
  /**
   * Buckets in PostgreSQL, exact over any number of instances: one statement finds the key, takes both tokens and keeps
   * `last_used_at`. It writes an unlogged table and does not wait for the disk, so that the account's bucket is locked for
   * a moment only. While the disk has no room for that, reads are counted in this process, where every bucket was full
   * before.
   */
  static readonly layerPostgresNoDeps = Layer.effect(
    RateLimiter,
    Effect.gen(function* () {
      const repo = yield* RateLimiterRepo
      const { limits } = yield* Settings
      const paces = pacesOf(limits)
      const inProcess = makeOver(repo, limits, bucketsInProcess(repo))

      const whereDiskIsFull = <Input, A>(read: (input: Input) => Effect.Effect<A, Unavailable>, input: Input) =>
        Effect.andThen(Effect.logWarning("The database's disk is full: a read is counted in this process"), read(input))

      const admit = Effect.fn("RateLimiter.admit")(function* (input: AdmitInput) {
        const wanted = paces[input.class]
        const found = yield* repo.admit({ ...input, paces: wanted })
        if (Option.isNone(found)) return { _tag: "Unknown" } as const
        const { id, name, ...verdict } = found.value
        return admission({ accountId: input.accountId, id, name }, judge(input.class, wanted, verdict))
      })

      const spend = Effect.fn("RateLimiter.spend")(function* (input: SpendInput) {
        const wanted = paces[input.class]
        return judge(input.class, wanted, yield* repo.spend({ ...input, paces: wanted }))
      })

      const left: RateLimiter["Service"]["remaining"] = Effect.fn("RateLimiter.remaining")(function* (input) {
        const { read, write } = yield* repo.ahead(input)
        return { writes: remaining(paces.write, write), reads: remaining(paces.read, read) }
      })

      return RateLimiter.of({
        admit: (input) => Effect.catchTag(admit(input), "DiskFull", () => whereDiskIsFull(inProcess.admit, input)),
        spend: (input) => Effect.catchTag(spend(input), "DiskFull", () => whereDiskIsFull(inProcess.spend, input)),
        remaining: left
      })
    })
  )

  static readonly layerPostgres = RateLimiter.layerPostgresNoDeps.pipe(Layer.provide(RateLimiterRepo.layer))

  /** Buckets in this process: exact for one instance only. Keys are still found in PostgreSQL. */
  static readonly layerMemoryNoDeps = Layer.effect(
    RateLimiter,
    Effect.gen(function* () {
      const repo = yield* RateLimiterRepo
      const { limits } = yield* Settings
      return RateLimiter.of(makeOver(repo, limits, bucketsInProcess(repo)))
    })
  )

  static readonly layerMemory = RateLimiter.layerMemoryNoDeps.pipe(Layer.provide(RateLimiterRepo.layer))
}

/** Where buckets are kept, when it is not where keys are found. */
export interface BucketStore<E> {
  /** Takes a token from both buckets, or from none. */
  readonly take: (owner: Owner, wanted: RequestClass, paces: Paces, now: Date) => Effect.Effect<Verdict, E>
  readonly ahead: (owner: Owner) => Effect.Effect<Ahead, E>
}

/** Buckets that nobody else knows of, which end with the process. */
const bucketsInProcess = (repo: RateLimiterRepo["Service"]): BucketStore<Unavailable> => {
  const buckets = Buckets.make()
  const bucketOf = ({ accountId, id }: Owner, wanted: RequestClass) => `${accountId}/${id}/${wanted}`
  const accountOf = ({ accountId }: Owner) => ({ accountId, id: "" })

  return {
    take: (owner, wanted, paces, now) =>
      Effect.sync(() => {
        const both = [
          { bucket: bucketOf(accountOf(owner), wanted), pace: paces.account },
          { bucket: bucketOf(owner, wanted), pace: paces.own }
        ]
        const { ahead, allowed } = buckets.takeAll(both, now)
        const [account = 0, own = 0] = ahead
        return { allowed, ahead: { own, account }, now }
      }),
    ahead: (owner) =>
      Effect.map(repo.now, (now) => {
        const ahead = (wanted: RequestClass) => ({
          own: buckets.ahead(bucketOf(owner, wanted), now),
          account: buckets.ahead(bucketOf(accountOf(owner), wanted), now)
        })
        return { write: ahead("write"), read: ahead("read") }
      })
  }
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

  const admit = Effect.fn("RateLimiter.admit")(function* (input: AdmitInput) {
    const found = yield* repo.findKey(input)
    if (Option.isNone(found)) return { _tag: "Unknown" } as const
    const { id, name, now } = found.value
    const key = { accountId: input.accountId, id, name }
    return admission(key, yield* take(key, input.class, now))
  })

  const spend = Effect.fn("RateLimiter.spend")(function* (input: SpendInput) {
    return yield* take(input, input.class, yield* repo.now)
  })

  const left = Effect.fn("RateLimiter.remaining")(function* (owner: Owner) {
    const { read, write } = yield* store.ahead(owner)
    return { writes: remaining(paces.write, write), reads: remaining(paces.read, read) }
  })

  return { admit, spend, remaining: left }
}
