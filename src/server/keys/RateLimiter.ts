import { Context, Effect, Layer } from "effect"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { Settings } from "../config/Settings.ts"
import { refine, type DiskFull } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import {
  judge,
  leftOf,
  pacesOf,
  type Admission,
  type AdmissionRequest,
  type Ahead,
  type FindRequest,
  type Limited,
  type Passed,
  type RequestClass
} from "./Admission.ts"
import { makeAdmitInGroups, makeInGroups, RateLimiterRepo, type Found, type Settled } from "./RateLimiterRepo.ts"
import type { AccountId } from "../../domain/Account.ts"
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
    readonly spend: (input: Owner & { readonly class: RequestClass }) => Effect.Effect<Passed | Limited, Unavailable>
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
      const admitInGroups = yield* makeAdmitInGroups(repo)
      const inProcess = yield* makeOver(repo, limits, bucketsInProcess(repo))

      const limiter = makeLimiter(limits, admitInGroups, ({ accountId, id }) => repo.ahead(accountId, id))

      // With a full disk a write would fail after its admission anyway.
      const orInProcess =
        <Input extends { readonly class: RequestClass }, A>(
          inDatabase: (input: Input) => Effect.Effect<A, DiskFull | Unavailable>,
          read: (input: Input) => Effect.Effect<A, Unavailable>
        ) =>
        (input: Input) =>
          Effect.catchTag(inDatabase(input), "DiskFull", ({ failure }) =>
            input.class === "write"
              ? refine(Effect.fail(failure))
              : Effect.andThen(
                  Effect.logWarning("The database's disk is full: a read is counted in this process"),
                  read(input)
                )
          )

      return RateLimiter.of({
        admit: orInProcess(limiter.admit, inProcess.admit),
        spend: orInProcess(limiter.spend, inProcess.spend),
        remaining: limiter.remaining
      })
    })
  ).pipe(Layer.provide(RateLimiterRepo.layer))
}

/** A key, connection or link, and its account. */
interface Owner {
  readonly accountId: AccountId
  readonly id: string
}

interface AdmitInput {
  readonly accountId: AccountId
  readonly hash: Uint8Array
  readonly class: RequestClass
}

/** A store of buckets other than PostgreSQL: those of an account are named by their owner's id and their class. */
interface BucketStore<E> {
  /** Takes a token from every bucket, or from none. `ahead`: in how many seconds each is full again. */
  readonly take: (
    accountId: AccountId,
    buckets: ReadonlyArray<{ readonly name: string; readonly pace: Buckets.Pace }>,
    now: Date
  ) => Effect.Effect<{ readonly allowed: boolean; readonly ahead: ReadonlyArray<number> }, E>
  /** In how many seconds each bucket is full again. */
  readonly ahead: (accountId: AccountId, names: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, E>
}

/** Buckets in this process's memory. */
export const bucketsInProcess = (repo: RateLimiterRepo["Service"]): BucketStore<Unavailable> => {
  const buckets = Buckets.make()
  const bucketOf = (accountId: AccountId, name: string) => `${accountId}/${name}`

  return {
    take: (accountId, wanted, now) =>
      Effect.sync(() =>
        buckets.takeAll(
          wanted.map(({ name, pace }) => ({ bucket: bucketOf(accountId, name), pace })),
          now
        )
      ),
    ahead: (accountId, names) =>
      Effect.map(repo.now(accountId), (now) => names.map((name) => buckets.ahead(bucketOf(accountId, name), now)))
  }
}

/**
 * A limiter with its buckets in `store`. One statement finds the keys of concurrent requests. Then each takes its tokens, in
 * order of arrival and in one turn of the event loop, so that the store gets them together.
 */
export const makeOver = Effect.fnUntraced(function* <E>(
  repo: RateLimiterRepo["Service"],
  limits: Limits,
  store: BucketStore<E>
) {
  const paces = pacesOf(limits)

  const find = yield* makeInGroups<FindRequest, Found, Unavailable>({
    run: (requests) => Effect.map(repo.find(requests), (found) => found.map((each) => Effect.succeed(each))),
    alone: (request) => Effect.map(repo.find([request]), ([found]) => found!)
  })

  const take = (request: AdmissionRequest): Effect.Effect<Settled, E | Unavailable> =>
    Effect.flatMap(find(request), (found): Effect.Effect<Settled, E> => {
      if (found._tag === "Unknown") return Effect.succeed(found)
      const { account, own } = paces[request.class]
      const both = [
        { name: bucketName("", request.class), pace: account },
        { name: bucketName(found.id, request.class), pace: own }
      ]
      return Effect.map(
        store.take(request.accountId, both, found.now),
        ({ ahead: [account = 0, own = 0], allowed }) => ({
          ...found,
          allowed,
          ahead: { own, account }
        })
      )
    })

  return makeLimiter(limits, take, ({ accountId, id }) =>
    Effect.map(
      store.ahead(
        accountId,
        (["read", "write"] as const).flatMap((wanted) => [bucketName(id, wanted), bucketName("", wanted)])
      ),
      ([ownRead = 0, accountRead = 0, ownWrite = 0, accountWrite = 0]) => ({
        read: { own: ownRead, account: accountRead },
        write: { own: ownWrite, account: accountWrite }
      })
    )
  )
})

/** The name of the bucket of a key, connection or link; the account's own has the empty id. */
const bucketName = (id: string, wanted: RequestClass): string => `${id}:${wanted}`

type Limits = Settings["Service"]["limits"]

/** A limiter that finds the sender of a request and takes its tokens with `take`. */
const makeLimiter = <E, F>(
  limits: Limits,
  take: (request: AdmissionRequest) => Effect.Effect<Settled, E>,
  aheadOf: (owner: Owner) => Effect.Effect<Ahead, F>
) => {
  const paces = pacesOf(limits)

  return {
    admit: traced("RateLimiter.admit")(function* ({ accountId, class: wanted, hash }: AdmitInput) {
      const taken = yield* take({ accountId, sender: { hash }, class: wanted })
      if (taken._tag === "Unknown") return taken
      const verdict = judge(wanted, paces[wanted], taken)
      if (verdict._tag === "Limited") return verdict
      return { ...verdict, _tag: "Admitted" as const, key: { accountId, id: KeyId.make(taken.id), name: taken.name } }
    }),
    spend: traced("RateLimiter.spend")(function* ({
      accountId,
      class: wanted,
      id
    }: Parameters<RateLimiter["Service"]["spend"]>[0]) {
      const taken = yield* take({ accountId, sender: { id }, class: wanted })
      if (taken._tag === "Unknown") return yield* Effect.die(new Error("A sender with an id is known."))
      return judge(wanted, paces[wanted], taken)
    }),
    remaining: traced("RateLimiter.remaining")(function* (owner: Owner) {
      const ahead = yield* aheadOf(owner)
      const left = (wanted: RequestClass) => {
        const { account, own } = leftOf(paces[wanted], ahead[wanted])
        return Math.min(account, own)
      }
      return { writes: left("write"), reads: left("read") }
    })
  }
}
