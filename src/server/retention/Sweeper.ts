import { Cause, Context, Data, type Duration, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { SignInLinks } from "../accounts/SignInLinks.ts"
import { Sessions } from "../accounts/browser/Sessions.ts"
import { Settings } from "../config/Settings.ts"
import { Keys } from "../keys/Keys.ts"
import { Links } from "../links/Links.ts"
import { Clients } from "../oauth/Clients.ts"
import { ClientTokens } from "../oauth/ClientTokens.ts"
import { Codes } from "../oauth/Codes.ts"
import { Grants } from "../oauth/Grants.ts"
import { transact } from "../sql/SqlFailure.ts"
import { RetentionRepo, type BucketKey, type Page, type TableKey } from "./RetentionRepo.ts"

/** What sweeps remove. `sign_ins` are expired links, and buckets of sign-ins that are full again. */
export type SweepKind =
  | "versions"
  | "changes"
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

/** How much one sweep removed. `busy`: another instance is sweeping. `more`: it stopped at the bounds of its pace. */
interface Sweep {
  readonly removed: Readonly<Record<SweepKind, number>>
  readonly ended: "done" | "more" | "busy"
}

/** A sweep's pace: the rows of a statement, the batches and pages of a kind, and the pause after each batch. */
export const SweepPace = Context.Reference<{
  readonly rows: number
  readonly batches: number
  readonly pages: number
  readonly pause: Duration.Input
}>("agent-memory/server/retention/Sweeper/SweepPace", {
  defaultValue: () => ({ rows: 500, batches: 10_000, pages: 20, pause: "10 millis" })
})

/** Called for every batch that removed something, for metrics. */
export const OnSwept = Context.Reference<(kind: SweepKind, count: number) => Effect.Effect<void>>(
  "agent-memory/server/retention/Sweeper/OnSwept",
  { defaultValue: () => () => Effect.void }
)

class Busy extends Data.TaggedError("Busy") {}

const isBusy = (cause: Cause.Cause<unknown>) =>
  cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error instanceof Busy)

/**
 * Removes expired and idle data in small batches with pauses. Each batch is a transaction under one advisory lock; an
 * instance that finds it locked stops, so that one instance sweeps at a time. A sweep can be interrupted at any time.
 */
export class Sweeper extends Context.Service<Sweeper>()("agent-memory/server/retention/Sweeper", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const repo = yield* RetentionRepo
    const signInLinks = yield* SignInLinks
    const links = yield* Links
    const keys = yield* Keys
    const sessions = yield* Sessions
    const clients = yield* Clients
    const codes = yield* Codes
    const clientTokens = yield* ClientTokens
    const connections = yield* Grants
    const { limits } = yield* Settings
    // A walk continues where the last sweep stopped.
    const tablesWalk: Walk<TableKey> = { after: undefined }
    const bucketsWalk: Walk<BucketKey> = { after: undefined }

    const sweep = Effect.gen(function* () {
      const pace = yield* SweepPace
      const onSwept = yield* OnSwept
      const bounds = { ...limits, rows: pace.rows }
      const removed = {
        versions: 0,
        changes: 0,
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

      const ofAccount = (kind: SweepKind, accountId: AccountId, remove: Remove) => {
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

      /** Sweeps account after account, a batch each, until nothing is left. An account that fails is skipped. */
      const sweepAccounts = Effect.fnUntraced(function* (kind: SweepKind, find: Find, remove: Remove) {
        const skipped: Array<AccountId> = []
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

      const walk = Effect.fnUntraced(function* <Key>(
        state: Walk<Key>,
        next: (after: Key | undefined, rows: number) => Effect.Effect<Page<Key>, Unavailable>,
        remove: (keys: ReadonlyArray<Key>) => Effect.Effect<unknown, Unavailable | Busy>
      ) {
        for (let pages = 0; pages < pace.pages; pages++) {
          const page = yield* next(state.after, pace.rows)
          const idle = page.filter((item) => item.idle)
          if (idle.length > 0) yield* remove(idle)
          state.after = page.length < pace.rows ? undefined : page.at(-1)
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
          "changes",
          (except) => repo.findChanges(bounds, except),
          (accountId) => repo.removeChanges(accountId, bounds)
        ),
        sweepAccounts(
          "idempotency_records",
          (except) => repo.findRecords(bounds, except),
          (accountId, revision) => repo.removeRecords(accountId, revision, bounds)
        ),
        walk(tablesWalk, repo.pageTables, (idle) =>
          Effect.forEach(
            new Set(idle.map((table) => table.accountId)),
            (accountId) => ofAccount("tables", accountId, (id, revision) => repo.removeTables(id, revision, pace.rows)),
            { discard: true }
          )
        ),
        sweepAll("sign_ins", signInLinks.prune(pace.rows)),
        sweepAll("api_keys", keys.prune(pace.rows)),
        sweepAll("links", links.prune(pace.rows)),
        sweepAll("sessions", sessions.prune(pace.rows)),
        sweepAll("oauth_clients", clients.prune(pace.rows)),
        sweepAll("oauth_codes", codes.prune(pace.rows)),
        sweepAll("oauth_tokens", clientTokens.prune(pace.rows)),
        sweepAll("connections", connections.prune(pace.rows)),
        walk(bucketsWalk, repo.pageBuckets, (idle) => batch("key_buckets", repo.removeBuckets(idle)))
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

    return { sweep }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

type Find = (except: ReadonlyArray<AccountId>) => Effect.Effect<ReadonlyArray<AccountId>, Unavailable>
type Remove = (accountId: AccountId, revision: number) => Effect.Effect<number, Unavailable>

interface Walk<Key> {
  after: Key | undefined
}
