import { Context, Effect, Layer, Option } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../Config.ts"
import type { DiskFull } from "../sql/DiskFull.ts"
import { refine } from "../sql/SqlFailure.ts"
import {
  admission,
  judge,
  pacesOf,
  remaining,
  type Admission,
  type Ahead,
  type Limited,
  type Moment,
  type Paces,
  type Passed,
  type RequestClass,
  type Verdict
} from "./Admission.ts"
import { makeAdmitInGroups } from "./AdmitInGroups.ts"
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
   * Buckets in PostgreSQL, exact over any number of instances: one statement finds the keys of all that wait at one moment
   * and takes their tokens. It writes an unlogged table only, so that nobody waits for the disk. While the disk has no room
   * for that, reads are counted in this process, where every bucket was full before.
   */
  static readonly layerPostgresNoDeps = Layer.effect(
    RateLimiter,
    Effect.gen(function* () {
      const repo = yield* RateLimiterRepo
      const { limits } = yield* Settings
      const paces = pacesOf(limits)
      const admitInGroups = yield* makeAdmitInGroups(repo, paces)
      const inProcess = makeOver(repo, limits, bucketsInProcess(repo))

      // A write has no use for its token where nothing can be stored.
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

      const admit = Effect.fn("RateLimiter.admit")(function* (input: AdmitInput) {
        const { accountId, class: wanted, hash } = input
        const taken = yield* admitInGroups({ accountId, sender: { hash }, class: wanted })
        if (taken._tag === "Unknown") return taken
        const key = { accountId, id: KeyId.make(taken.id), name: taken.name }
        return admission(key, judge(wanted, paces[wanted], taken))
      })

      const spend = Effect.fn("RateLimiter.spend")(function* (input: SpendInput) {
        const { accountId, class: wanted, id } = input
        const taken = yield* admitInGroups({ accountId, sender: { id }, class: wanted })
        if (taken._tag === "Unknown") return yield* Effect.die(new Error("Whoever has an id is known."))
        return judge(wanted, paces[wanted], taken)
      })

      const left: RateLimiter["Service"]["remaining"] = Effect.fn("RateLimiter.remaining")(function* (input) {
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
  readonly take: (
    owner: Owner,
    wanted: RequestClass,
    paces: Paces,
    now: Date
  ) => Effect.Effect<Pick<Verdict, "allowed" | "ahead">, E>
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
        return { allowed, ahead: { own, account } }
      }),
    ahead: (owner) =>
      Effect.map(repo.moment(owner.accountId), ({ now }) => {
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

  const take = (owner: Owner, wanted: RequestClass, { incarnation, now, revision }: Moment) =>
    Effect.map(store.take(owner, wanted, paces[wanted], now), (taken) =>
      judge(wanted, paces[wanted], { ...taken, now, revision, incarnation })
    )

  const admit = Effect.fn("RateLimiter.admit")(function* ({ accountId, class: wanted, hash }: AdmitInput) {
    const found = yield* repo.findKey({ accountId, hash })
    if (Option.isNone(found)) return { _tag: "Unknown" } as const
    const { id, name, ...moment } = found.value
    const key = { accountId, id, name }
    return admission(key, yield* take(key, wanted, moment))
  })

  const spend = Effect.fn("RateLimiter.spend")(function* (input: SpendInput) {
    return yield* take(input, input.class, yield* repo.moment(input.accountId))
  })

  const left = Effect.fn("RateLimiter.remaining")(function* (owner: Owner) {
    const { read, write } = yield* store.ahead(owner)
    return { writes: remaining(paces.write, write), reads: remaining(paces.read, read) }
  })

  return { admit, spend, remaining: left }
}
