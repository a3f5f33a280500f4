import { Cause, Context, Data, type Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { Accounts } from "../accounts/Accounts.ts"
import { Sessions } from "../accounts/Sessions.ts"
import { Settings } from "../Config.ts"
import { Keys } from "../keys/Keys.ts"
import { Links } from "../links/Links.ts"
import { Clients } from "../oauth/Clients.ts"
import { ClientTokens } from "../oauth/ClientTokens.ts"
import { Codes } from "../oauth/Codes.ts"
import { Connections } from "../oauth/Connections.ts"
import { transact } from "../sql/SqlFailure.ts"
import { IdleRepo, type BucketPlace, type Page, type TablePlace } from "./IdleRepo.ts"
import { RetentionRepo } from "./RetentionRepo.ts"

/** What sweeps remove. `sign_ins` are links that are over and limits of sign-ins that are full again. */
export type SweepKind =
  | "versions"
  | "idempotency_records"
  | "tables"
  | "sign_ins"
  | "key_buckets"
  | "api_keys"
  | "links"
  | "sessions"
  | "oauth_clients"
  | "oauth_codes"
  | "oauth_tokens"
  | "connections"

/** How much one sweep removed. `busy`: another instance is sweeping. `more`: it stopped at its bounds. */
export interface Sweep {
  readonly removed: Readonly<Record<SweepKind, number>>
  readonly ended: "done" | "more" | "busy"
}

/** How hard a sweep works: what a statement may touch, how many batches and pages a kind gets, the pause in between. */
export const SweepPace = Context.Reference<{
  readonly rows: number
  readonly batches: number
  readonly pages: number
  readonly pause: Duration.Input
}>("agent-memory/server/retention/Sweeper/SweepPace", {
  defaultValue: () => ({ rows: 500, batches: 10_000, pages: 20, pause: "10 millis" })
})

/** Told of every batch that removed something, for metrics. */
export const OnSwept = Context.Reference<(kind: SweepKind, count: number) => Effect.Effect<void>>(
  "agent-memory/server/retention/Sweeper/OnSwept",
  { defaultValue: () => () => Effect.void }
)

class Busy extends Data.TaggedError("Busy") {}

const isBusy = (cause: Cause.Cause<unknown>) =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error instanceof Busy)

/**
 * Removes what is over, in small batches with pauses. Each batch is a transaction under one advisory lock, so that of
 * several instances one removes at a time; whoever finds the lock taken stops. Interrupting it loses nothing.
 */
export class Sweeper extends Context.Service<
  Sweeper,
  {
    readonly sweep: Effect.Effect<Sweep, Unavailable>
  }
>()("agent-memory/server/retention/Sweeper") {
  static readonly layerNoDeps = Layer.effect(
    Sweeper,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const repo = yield* RetentionRepo
      const idle = yield* IdleRepo
      const accounts = yield* Accounts
      const links = yield* Links
      const keys = yield* Keys
      const sessions = yield* Sessions
      const clients = yield* Clients
      const codes = yield* Codes
      const clientTokens = yield* ClientTokens
      const connections = yield* Connections
      const { limits } = yield* Settings
      // A walk goes on where the last sweep left it.
      const tablesWalk: Walk<TablePlace> = { after: undefined }
      const bucketsWalk: Walk<BucketPlace> = { after: undefined }

      const sweep = Effect.gen(function* () {
        const pace = yield* SweepPace
        const onSwept = yield* OnSwept
        const bounds = { ...limits, rows: pace.rows }
        const removed = {
          versions: 0,
          idempotency_records: 0,
          tables: 0,
          sign_ins: 0,
          key_buckets: 0,
          api_keys: 0,
          links: 0,
          sessions: 0,
          oauth_clients: 0,
          oauth_codes: 0,
          oauth_tokens: 0,
          connections: 0
        }

        const batch = Effect.fnUntraced(function* (kind: SweepKind, remove: Effect.Effect<number, Unavailable>) {
          const locked = Effect.gen(function* () {
            if (!(yield* repo.tryLock)) return yield* new Busy()
            return yield* remove
          })
          const count = yield* transact(sql)(locked)
          removed[kind] += count
          if (count > 0) yield* onSwept(kind, count)
          yield* Effect.sleep(pace.pause)
          return count
        })

        const ofAccount = (kind: SweepKind, accountId: string, remove: Remove) => {
          const locked = Effect.flatMap(repo.lockAccount(accountId), (revision) =>
            revision === undefined ? Effect.succeed(0) : remove(accountId, revision)
          )
          return batch(kind, locked).pipe(
            Effect.catchCauseIf(
              (cause) => !Cause.hasInterrupts(cause) && !isBusy(cause),
              (cause) =>
                Effect.as(Effect.logError("An account could not be swept", { account_id: accountId, kind }, cause), 0)
            )
          )
        }

        /** Account after account a batch each, until nothing is left. One that can't be swept keeps no other waiting. */
        const sweepAccounts = Effect.fnUntraced(function* (kind: SweepKind, find: Find, remove: Remove) {
          const skipped: Array<string> = []
          let batches = 0
          while (batches < pace.batches) {
            const found = yield* find(skipped)
            if (found.length === 0) return true
            for (const accountId of found) {
              batches++
              if ((yield* ofAccount(kind, accountId, remove)) > 0) continue
              skipped.push(accountId)
              break
            }
          }
          return false
        })

        const walk = Effect.fnUntraced(function* <Place>(
          state: Walk<Place>,
          next: (after: Place | undefined, rows: number) => Effect.Effect<Page<Place>, Unavailable>,
          remove: (places: ReadonlyArray<Place>) => Effect.Effect<unknown, Unavailable | Busy>
        ) {
          for (let page = 0; page < pace.pages; page++) {
            const { idle, places } = yield* next(state.after, pace.rows)
            if (idle.length > 0) yield* remove(idle)
            state.after = places.length < pace.rows ? undefined : places.at(-1)
            if (state.after === undefined) return true
          }
          return false
        })

        const sweepAll = Effect.fnUntraced(function* (kind: SweepKind, remove: Effect.Effect<number, Unavailable>) {
          for (let count = 0; count < pace.pages; count++) {
            if ((yield* batch(kind, remove)) === 0) return true
          }
          return false
        })

        const kinds: ReadonlyArray<Effect.Effect<boolean, Unavailable | Busy>> = [
          sweepAccounts(
            "versions",
            (except) => repo.findVersions(bounds, except),
            (accountId, revision) => repo.removeVersions(accountId, revision, bounds)
          ),
          sweepAccounts(
            "idempotency_records",
            (except) => repo.findRecords(bounds, except),
            (accountId, revision) => repo.removeRecords(accountId, revision, bounds)
          ),
          walk(tablesWalk, idle.pageTables, (places) =>
            Effect.forEach(
              new Set(places.map((place) => place.accountId)),
              (accountId) =>
                ofAccount("tables", accountId, (id, revision) => idle.removeTables(id, revision, pace.rows)),
              { discard: true }
            )
          ),
          sweepAll("sign_ins", accounts.prune),
          sweepAll("api_keys", keys.prune(pace.rows)),
          sweepAll("links", links.prune(pace.rows)),
          sweepAll("sessions", sessions.prune(pace.rows)),
          sweepAll("oauth_clients", clients.prune(pace.rows)),
          sweepAll("oauth_codes", codes.prune(pace.rows)),
          sweepAll("oauth_tokens", clientTokens.prune(pace.rows)),
          sweepAll("connections", connections.prune(pace.rows)),
          walk(bucketsWalk, idle.pageBuckets, (places) => batch("key_buckets", idle.removeBuckets(places)))
        ]

        return yield* Effect.forEach(kinds, (kind) => kind).pipe(
          Effect.map((ends): Sweep["ended"] => (ends.every(Boolean) ? "done" : "more")),
          Effect.catchTag("Busy", () => Effect.succeed("busy" as const)),
          Effect.map((ended): Sweep => ({ removed, ended })),
          Effect.onExit(() => {
            const anything = Object.values(removed).some((count) => count > 0)
            return anything ? Effect.logInfo("Swept", removed) : Effect.logDebug("Swept", removed)
          })
        )
      }).pipe(Effect.withSpan("Sweeper.sweep"))

      return Sweeper.of({ sweep })
    })
  )

  static readonly layer = Sweeper.layerNoDeps.pipe(Layer.provide([RetentionRepo.layer, IdleRepo.layer]))
}

type Find = (except: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, Unavailable>
type Remove = (accountId: string, revision: number) => Effect.Effect<number, Unavailable>

interface Walk<Place> {
  after: Place | undefined
}
