import { Context, Effect, Layer } from "effect"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { refine, type DiskFull } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import {
  admission,
  judge,
  pacesOf,
  remaining,
  type Admission,
  type Limited,
  type Passed,
  type RequestClass,
  type Ahead,
  type FindRequest,
  type Paces,
  type Verdict
} from "./Admission.ts"
import { makeAdmitInGroups, RateLimiterRepo, makeInGroups, type Found } from "./RateLimiterRepo.ts"
import type { AccountId } from "../../domain/Account.ts"
import type { Moment } from "../../domain/Actor.ts"
import * as Buckets from "../capacity/Buckets.ts"

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

/** The owner of buckets: a key, connection or link, and its account. */
export interface Owner {
  readonly accountId: AccountId
  readonly id: string
}

export interface AdmitInput {
  readonly accountId: AccountId
  readonly hash: Uint8Array
  readonly class: RequestClass
}

export interface SpendInput extends Owner {
  readonly class: RequestClass
}

export const known = <A extends { readonly _tag: "Known" }>(
  found: A | { readonly _tag: "Unknown" }
): Effect.Effect<A> =>
  found._tag === "Unknown" ? Effect.die(new Error("A sender with an id is known.")) : Effect.succeed(found)

/** A store of buckets other than PostgreSQL. */
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

/** Buckets in this process's memory. */
export const bucketsInProcess = (repo: RateLimiterRepo["Service"]): BucketStore<Unavailable> => {
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
      Effect.gen(function* () {
        const [found] = yield* repo.find([{ accountId: owner.accountId, sender: { id: owner.id } }])
        const { now } = yield* known(found!)
        const ahead = (wanted: RequestClass) => ({
          own: buckets.ahead(bucketOf(owner, wanted), now),
          account: buckets.ahead(bucketOf(accountOf(owner), wanted), now)
        })
        return { write: ahead("write"), read: ahead("read") }
      })
  }
}

/**
 * A limiter with its buckets in `store`. One statement finds the keys of concurrent requests. Then each takes its tokens, in
 * order of arrival and in one turn of the event loop, so that the store gets them together.
 */
export const makeOver = Effect.fnUntraced(function* <E>(
  repo: RateLimiterRepo["Service"],
  limits: Parameters<typeof pacesOf>[0],
  store: BucketStore<E>
) {
  const paces = pacesOf(limits)

  const find = yield* makeInGroups<FindRequest, Found, Unavailable>({
    run: (requests) => Effect.map(repo.find(requests), (found) => found.map((each) => Effect.succeed(each))),
    alone: (request) => Effect.map(repo.find([request]), ([found]) => found!)
  })

  const take = (owner: Owner, wanted: RequestClass, { incarnation, now, revision }: Moment) =>
    Effect.map(store.take(owner, wanted, paces[wanted], now), (taken) =>
      judge(wanted, paces[wanted], { ...taken, now, revision, incarnation })
    )

  const admit = traced("RateLimiter.admit")(function* ({ accountId, class: wanted, hash }: AdmitInput) {
    const found = yield* find({ accountId, sender: { hash } })
    if (found._tag === "Unknown") return found
    const key = { accountId, id: KeyId.make(found.id), name: found.name }
    return admission(key, yield* take(key, wanted, found))
  })

  const spend = traced("RateLimiter.spend")(function* (input: SpendInput) {
    const found = yield* find({ accountId: input.accountId, sender: { id: input.id } })
    return yield* take(input, input.class, yield* known(found))
  })

  const left = traced("RateLimiter.remaining")(function* (owner: Owner) {
    const { read, write } = yield* store.ahead(owner)
    return { writes: remaining(paces.write, write), reads: remaining(paces.read, read) }
  })

  return { admit, spend, remaining: left }
})
