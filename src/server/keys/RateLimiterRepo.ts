import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { AccountId } from "../../domain/Account.ts"
import { KeyId } from "../../domain/Key.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { tellDiskFull, type DiskFull } from "../sql/DiskFull.ts"
import { lockPatience } from "../sql/LockPatience.ts"
import { binaries, texts } from "../sql/Params.ts"
import { refine } from "../sql/SqlFailure.ts"
import type { AdmissionRequest, Ahead, Moment, Paces, RequestClass, Verdict } from "./Admission.ts"
import { LastUses } from "./LastUses.ts"

const Class = Schema.Literals(["read", "write"])

const OfAccount = Schema.Struct({ accountId: AccountId })
const KeyRequest = Schema.Struct({ accountId: AccountId, hash: Schema.Uint8Array })
const BucketRequest = Schema.Struct({ accountId: AccountId, id: Schema.String })

const momentColumns = { now: Schema.Date, revision: Schema.Finite, incarnation: Schema.Finite }
const MomentRow = Schema.Struct(momentColumns)
const FoundKey = Schema.Struct({ id: KeyId, name: Schema.String, ...momentColumns })
const BucketRow = Schema.Struct({ key_id: Schema.String, class: Class, ahead: Schema.Finite })

/** What {@link RateLimiterRepo.admit} is asked in one statement. */
export interface AdmitRequest {
  readonly requests: ReadonlyArray<AdmissionRequest>
  readonly paces: RequestPaces
  /** Whether it waits for buckets that are locked at this moment, or says that they are. */
  readonly waits: boolean
}

/** The paces of both classes. */
export type RequestPaces = Readonly<Record<RequestClass, Paces>>

/** Who was found, and whether the request is let in. A connection or link has no name here. */
interface Known extends Verdict {
  readonly _tag: "Known"
  readonly id: string
  readonly name: string
}

/** What becomes of a request: `Unknown` is a key that is unknown or revoked, `Busy` means that another session holds a bucket. */
export type Taken = Known | { readonly _tag: "Unknown" } | { readonly _tag: "Busy" }

interface TakenRow {
  readonly id: string | null
  readonly name: string | null
  readonly allowed: boolean | null
  readonly ahead: number
  readonly account_ahead: number
  readonly now: Date
  readonly revision: number
  readonly incarnation: number
}

const takenOf = ({
  account_ahead: account,
  ahead: own,
  allowed,
  id,
  incarnation,
  name,
  now,
  revision
}: TakenRow): Taken => {
  if (id === null) return { _tag: "Unknown" }
  if (allowed === null) return { _tag: "Busy" }
  return { _tag: "Known", id, name: name ?? "", allowed, ahead: { own, account }, now, revision, incarnation }
}

// In the order that take_tokens and take_free_token have them.
const stepsAndSpans = ({ account, own }: Paces) =>
  [own, account].flatMap(({ burst, interval }) => [interval, interval * burst].map((us) => `${us} microseconds`))

/** The statements that let requests in: on `api_keys` and on the unlogged `key_buckets`. */
export class RateLimiterRepo extends Context.Service<
  RateLimiterRepo,
  {
    /** Finds a key by its SHA-256. */
    readonly findKey: (
      request: typeof KeyRequest.Type
    ) => Effect.Effect<Option.Option<typeof FoundKey.Type>, Unavailable>
    /** Finds each key and takes a token from its bucket and its account's, in the order of the requests. */
    readonly admit: (request: AdmitRequest) => Effect.Effect<ReadonlyArray<Taken>, DiskFull | Unavailable>
    readonly ahead: (request: typeof BucketRequest.Type) => Effect.Effect<Ahead, Unavailable>
    readonly moment: (accountId: AccountId) => Effect.Effect<Moment, Unavailable>
  }
>()("agent-memory/server/keys/RateLimiterRepo") {
  static readonly layerNoDeps = Layer.effect(
    RateLimiterRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lastUses = yield* LastUses

      const findKey = SqlSchema.findOneOption({
        Request: KeyRequest,
        Result: FoundKey,
        execute: ({ accountId, hash }) => sql`
          SELECT k.key_id AS id, k.name, memory_now() AS now, a.revision::float8 AS revision,
            extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
          FROM api_keys k
          JOIN accounts a ON a.account_id = ${accountId}
          WHERE k.account_id = ${accountId} AND k.hash = ${hash} AND k.revoked_at IS NULL
        `
      })

      const admitOne = Effect.fn("RateLimiterRepo.admitOne")(function* (
        { accountId, class: wanted, sender }: AdmissionRequest,
        paces: RequestPaces
      ) {
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

      const admitAll = Effect.fn("RateLimiterRepo.admitAll")(function* ({ paces, requests, waits }: AdmitRequest) {
        return yield* sql<TakenRow>`
          WITH asked AS MATERIALIZED (
            SELECT r.place, r.account_id, r.class, coalesce(r.id, k.key_id) AS id, k.name, a.revision
            FROM unnest(
              ${texts(requests.map(({ accountId }) => accountId))}::text[],
              ${binaries(requests.map(({ sender }) => ("hash" in sender ? sender.hash : null)))}::bytea[],
              ${texts(requests.map(({ sender }) => ("id" in sender ? sender.id : null)))}::text[],
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

      const admit = Effect.fn("RateLimiterRepo.admit")(
        function* (request: AdmitRequest) {
          const { paces, requests, waits } = request
          const isLone = requests.length === 1 && !waits
          const taken = (yield* isLone ? admitOne(requests[0]!, paces) : admitAll(request)).map(takenOf)
          for (const [index, each] of taken.entries()) {
            const { accountId, sender } = requests[index]!
            if (each._tag === "Known" && "hash" in sender) lastUses.note("key", accountId, each.id, each.now)
          }
          return taken
        },
        tellDiskFull,
        refine
      )

      const buckets = SqlSchema.findAll({
        Request: BucketRequest,
        Result: BucketRow,
        execute: ({ accountId, id }) => sql`
          SELECT key_id, class, greatest(0, extract(epoch FROM tat - memory_now()))::float8 AS ahead
          FROM key_buckets
          WHERE account_id = ${accountId} AND key_id IN ('', ${id})
        `
      })

      const moment = SqlSchema.findOne({
        Request: OfAccount,
        Result: MomentRow,
        execute: ({ accountId }) => sql`
          SELECT memory_now() AS now, revision::float8 AS revision,
            extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation
          FROM accounts
          WHERE account_id = ${accountId}
        `
      })

      return RateLimiterRepo.of({
        findKey: (request) =>
          Effect.tap(refine(findKey(request)), (found) =>
            Effect.sync(() => Option.map(found, ({ id, now }) => lastUses.note("key", request.accountId, id, now)))
          ),
        admit,
        ahead: (request) =>
          refine(
            Effect.map(buckets(request), (rows) => {
              const of = (owner: string, wanted: RequestClass) =>
                rows.find((row) => row.key_id === owner && row.class === wanted)?.ahead ?? 0
              const both = (wanted: RequestClass) => ({ own: of(request.id, wanted), account: of("", wanted) })
              return { write: both("write"), read: both("read") }
            })
          ),
        moment: (accountId) => refine(moment({ accountId }))
      })
    })
  )

  static readonly layer = RateLimiterRepo.layerNoDeps.pipe(Layer.provide(LastUses.layer))
}
