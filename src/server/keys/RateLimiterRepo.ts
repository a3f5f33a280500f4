import { Context, Effect, Layer, Cause, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { refine, catchDiskFull, type DiskFull } from "../sql/SqlFailure.ts"
import { lockPatience, binaries, texts } from "../sql/SharedSql.ts"
import type { Moment } from "../../domain/Actor.ts"
import {
  pacesOf,
  type AdmissionRequest,
  type Ahead,
  type FindRequest,
  type Paces,
  type RequestClass,
  type Verdict
} from "./Admission.ts"
import { Settings } from "../config/Settings.ts"
import { LastUses } from "./LastUses.ts"
import { traced } from "../telemetry/Telemetry.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { accountsAtOnce, makeGroups } from "../sql/Groups.ts"

/** A sender that was found. A connection or link has no name here. */
interface Sender extends Moment {
  readonly _tag: "Known"
  readonly id: string
  readonly name: string
}

/** The sender of a request. `Unknown` is a key that is unknown or revoked. */
export type Found = Sender | { readonly _tag: "Unknown" }

/** The result for a request. `Busy` means that another session has locked a bucket. */
export type Taken = (Sender & Verdict) | { readonly _tag: "Unknown" } | { readonly _tag: "Busy" }

interface FoundRow extends Moment {
  readonly id: string | null
  readonly name: string | null
}

interface TakenRow extends FoundRow {
  readonly allowed: boolean | null
  readonly ahead: number
  readonly account_ahead: number
}

const foundOf = ({ id, incarnation, name, now, revision }: FoundRow): Found =>
  id === null ? { _tag: "Unknown" } : { _tag: "Known", id, name: name ?? "", now, revision, incarnation }

const takenOf = (row: TakenRow): Taken => {
  const found = foundOf(row)
  if (found._tag === "Unknown") return found
  if (row.allowed === null) return { _tag: "Busy" }
  return { ...found, allowed: row.allowed, ahead: { own: row.ahead, account: row.account_ahead } }
}

const accountsOf = (requests: ReadonlyArray<FindRequest>) => texts(requests.map(({ accountId }) => accountId))
const hashesOf = (requests: ReadonlyArray<FindRequest>) =>
  binaries(requests.map(({ sender }) => ("hash" in sender ? sender.hash : null)))
const idsOf = (requests: ReadonlyArray<FindRequest>) =>
  texts(requests.map(({ sender }) => ("id" in sender ? sender.id : null)))

// In the order of the parameters of take_tokens and take_free_token.
const stepsAndSpans = ({ account, own }: Paces) =>
  [own, account].flatMap(({ burst, interval }) => [interval, interval * burst].map((us) => `${us} microseconds`))

/** The statements of admission, on `api_keys` and the unlogged `key_buckets`. */
export class RateLimiterRepo extends Context.Service<RateLimiterRepo>()("agent-memory/server/keys/RateLimiterRepo", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const lastUses = yield* LastUses
    const paces = pacesOf((yield* Settings).limits)

    const noteUses = (requests: ReadonlyArray<FindRequest>, found: ReadonlyArray<Found | Taken>) => {
      for (const [index, each] of found.entries()) {
        const { accountId, sender } = requests[index]!
        if (each._tag === "Known" && "hash" in sender) lastUses.note("key", accountId, each.id, each.now)
      }
    }

    const findOne = traced("RateLimiterRepo.findOne")(function* ({ accountId, sender }: FindRequest) {
      const { hash, id } = { hash: null, id: null, ...sender }
      return yield* sql<FoundRow>`
        SELECT coalesce(${id}::text, k.key_id) AS id, k.name, memory_now() AS now, a.revision::float8 AS revision,
          extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
        FROM (VALUES (1)) AS one
        LEFT JOIN accounts a ON a.account_id = ${accountId}
        LEFT JOIN api_keys k ON k.account_id = ${accountId} AND k.hash = ${hash}::bytea AND k.revoked_at IS NULL
      `
    })

    const findAll = traced("RateLimiterRepo.findAll")(function* (requests: ReadonlyArray<FindRequest>) {
      return yield* sql<FoundRow>`
        SELECT coalesce(r.id, k.key_id) AS id, k.name, memory_now() AS now, a.revision::float8 AS revision,
          extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
        FROM unnest(
          ${accountsOf(requests)}::text[], ${hashesOf(requests)}::bytea[], ${idsOf(requests)}::text[]
        ) WITH ORDINALITY AS r (account_id, hash, id, place)
        LEFT JOIN accounts a ON a.account_id = r.account_id
        LEFT JOIN api_keys k ON k.account_id = r.account_id AND k.hash = r.hash AND k.revoked_at IS NULL
        ORDER BY r.place
      `
    })

    /** Finds who sends each request, and spends nothing. */
    const find = traced("RateLimiterRepo.find")(function* (requests: ReadonlyArray<FindRequest>) {
      const found = (yield* requests.length === 1 ? findOne(requests[0]!) : findAll(requests)).map(foundOf)
      noteUses(requests, found)
      return found
    }, refine)

    const admitOne = traced("RateLimiterRepo.admitOne")(function* ({
      accountId,
      class: wanted,
      sender
    }: AdmissionRequest) {
      const { hash, id } = { hash: null, id: null, ...sender }
      const [step, span, accountStep, accountSpan] = stepsAndSpans(paces[wanted])
      return yield* sql<TakenRow>`
        SELECT coalesce(${id}::text, k.key_id) AS id, k.name, t.allowed, t.now, t.ahead, t.account_ahead,
          a.revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
        FROM (VALUES (1)) AS one
        LEFT JOIN accounts a ON a.account_id = ${accountId}
        LEFT JOIN api_keys k ON k.account_id = ${accountId} AND k.hash = ${hash}::bytea AND k.revoked_at IS NULL
        LEFT JOIN LATERAL take_free_token(
          ${accountId}, coalesce(${id}::text, k.key_id), ${wanted}, ${step}::text::interval, ${span}::text::interval,
          ${accountStep}::text::interval, ${accountSpan}::text::interval
        ) AS t ON true
      `
    })

    const admitAll = traced("RateLimiterRepo.admitAll")(function* (
      requests: ReadonlyArray<AdmissionRequest>,
      waits: boolean
    ) {
      return yield* sql<TakenRow>`
        WITH asked AS MATERIALIZED (
          SELECT r.place, r.account_id, r.class, coalesce(r.id, k.key_id) AS id, k.name, a.revision
          FROM unnest(
            ${accountsOf(requests)}::text[], ${hashesOf(requests)}::bytea[], ${idsOf(requests)}::text[],
            ${texts(requests.map((request) => request.class))}::text[]
          ) WITH ORDINALITY AS r (account_id, hash, id, class, place)
          LEFT JOIN accounts a ON a.account_id = r.account_id
          LEFT JOIN api_keys k
            ON k.account_id = r.account_id AND k.hash = r.hash AND k.revoked_at IS NULL
        ), lists AS (
          SELECT array_agg(account_id ORDER BY place) AS accounts, array_agg(id ORDER BY place) AS owners,
            array_agg(class ORDER BY place) AS classes
          FROM asked
        ), taken AS MATERIALIZED (
          SELECT t.*
          FROM lists, take_tokens(
            lists.accounts, lists.owners, lists.classes, ${texts(stepsAndSpans(paces.read))}::text[]::interval[],
            ${texts(stepsAndSpans(paces.write))}::text[]::interval[], ${lockPatience}, ${waits}::boolean
          ) AS t
        )
        SELECT asked.id, asked.name, t.allowed, t.now, t.ahead, t.account_ahead, asked.revision::float8 AS revision,
          extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
        FROM asked
        LEFT JOIN taken t ON t.place = asked.place
        ORDER BY asked.place
      `
    })

    /**
     * Finds each sender and takes a token from its bucket and its account's, in the order of the requests. Waits for locked
     * buckets, or reports them as busy.
     */
    const admit = traced("RateLimiterRepo.admit")(
      function* (requests: ReadonlyArray<AdmissionRequest>, waits: boolean) {
        const isLone = requests.length === 1 && !waits
        const taken = (yield* isLone ? admitOne(requests[0]!) : admitAll(requests, waits)).map(takenOf)
        noteUses(requests, taken)
        return taken
      },
      catchDiskFull,
      refine
    )

    /** The database's clock. */
    const now = (accountId: AccountId) =>
      Effect.map(refine(findOne({ accountId, sender: { id: "" } })), ([row]) => row!.now)

    /** In how many seconds the buckets of a sender and of its account are full. */
    const ahead = traced("RateLimiterRepo.ahead")(function* (accountId: AccountId, id: string) {
      const rows = yield* sql<{ key_id: string; class: RequestClass; ahead: number }>`
        SELECT key_id, class, greatest(0, extract(epoch FROM tat - memory_now()))::float8 AS ahead
        FROM key_buckets
        WHERE account_id = ${accountId} AND key_id IN ('', ${id})
      `
      const of = (owner: string, wanted: RequestClass) =>
        rows.find((row) => row.key_id === owner && row.class === wanted)?.ahead ?? 0
      const both = (wanted: RequestClass) => ({ own: of(id, wanted), account: of("", wanted) })
      const result: Ahead = { write: both("write"), read: both("read") }
      return result
    }, refine)

    return { find, admit, ahead, now }
  })
}) {
  static readonly layer = Layer.effect(this, this.make).pipe(Layer.provide(LastUses.layer))
}

/**
 * Runs the statements of admission for groups of concurrent requests. When the service stops, groups end, and the requests
 * that are left run `alone`.
 */
export const makeInGroups = Effect.fnUntraced(function* <Item, A, E>(options: {
  readonly run: (items: ReadonlyArray<Item>) => Effect.Effect<ReadonlyArray<Effect.Effect<A, E>>, E>
  readonly alone: (item: Item) => Effect.Effect<A, E>
}) {
  const { alone, run } = options
  const inGroup = yield* makeGroups<Item, A, E>({ ...(yield* accountsAtOnce({ size: 64, inFlight: 2 })), run })

  return (item: Item): Effect.Effect<A, E> =>
    Effect.catchCause(inGroup(item), (cause) =>
      Cause.hasInterruptsOnly(cause) ? alone(item) : Effect.failCause(cause)
    )
})

/** The result for a request that waits for its bucket. */
export type Settled = Exclude<Taken, { readonly _tag: "Busy" }>

const settled = (taken: Taken): Effect.Effect<Settled> =>
  taken._tag === "Busy" ? Effect.die(new Error("A request that waits for a bucket gets it.")) : Effect.succeed(taken)

/**
 * Admits concurrent requests with one statement, in order of arrival. A group waits for no lock: requests of an account with
 * a locked bucket leave the group and wait for that bucket.
 */
export const makeAdmitInGroups = Effect.fnUntraced(function* (repo: RateLimiterRepo["Service"]) {
  const scope = yield* Effect.scope

  const waitApart = Effect.fnUntraced(function* (requests: ReadonlyArray<AdmissionRequest>) {
    const fiber = yield* Effect.forkIn(repo.admit(requests, true), scope)
    return requests.map((_, index) => Effect.flatMap(Fiber.join(fiber), (taken) => settled(taken[index]!)))
  })

  return yield* makeInGroups<AdmissionRequest, Settled, DiskFull | Unavailable>({
    run: Effect.fnUntraced(function* (requests) {
      const taken = yield* repo.admit(requests, false)
      const results: Array<Effect.Effect<Settled, DiskFull | Unavailable>> = taken.map(settled)
      const busy = [...taken.keys()].filter((index) => taken[index]!._tag === "Busy")
      for (const indexes of Map.groupBy(busy, (index) => requests[index]!.accountId).values()) {
        const apart = yield* waitApart(indexes.map((index) => requests[index]!))
        for (const [nth, index] of indexes.entries()) results[index] = apart[nth]!
      }
      return results
    }),
    alone: (request) => Effect.flatMap(repo.admit([request], true), ([taken]) => settled(taken!))
  })
})
