import { Effect } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import type { Moment } from "../../domain/Actor.ts"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import * as Buckets from "../capacity/Buckets.ts"
import { traced } from "../telemetry/Traced.ts"
import {
  admission,
  judge,
  pacesOf,
  remaining,
  type Ahead,
  type FindRequest,
  type Paces,
  type RequestClass,
  type Verdict
} from "./Admission.ts"
import { makeInGroups, type Found, type RateLimiterRepo } from "./RateLimiterRepo.ts"

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
