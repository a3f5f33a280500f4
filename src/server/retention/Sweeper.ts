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
const kinds = [
  "versions",
  "changes",
  "idempotency_records",
  "tables",
  "sign_ins",
  "key_buckets",
  "api_keys",
  "links",
  "sessions",
  "oauth_clients",
  "oauth_codes",
  "oauth_tokens",
  "connections"
] as const

type SweepKind = (typeof kinds)[number]

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
    const pruned = [
      ["sign_ins", yield* SignInLinks],
      ["api_keys", yield* Keys],
      ["links", yield* Links],
      ["sessions", yield* Sessions],
      ["oauth_clients", yield* Clients],
      ["oauth_codes", yield* Codes],
      ["oauth_tokens", yield* ClientTokens],
      ["connections", yield* Grants]
    ] as const
    const { limits } = yield* Settings
    // A walk continues where the last sweep stopped.
    const tablesWalk: Walk<TableKey> = { after: undefined }
    const bucketsWalk: Walk<BucketKey> = { after: undefined }

    const sweep = Effect.gen(function* () {
      const pace = yield* SweepPace
      const onSwept = yield* OnSwept
      const bounds = { ...limits, rows: pace.rows }
      const removed = Object.fromEntries(kinds.map((kind) => [kind, 0])) as Record<SweepKind, number>

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
          revision === undefined ? Effect.succeed(0) : remove(accountId, revision, bounds)
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
      const sweepAccounts = Effect.fnUntraced(function* (kind: Expiring, remove: Remove) {
        const skipped: Array<AccountId> = []
        let batches = 0
        while (batches < pace.batches) {
          const found = yield* repo.findExpired(kind, bounds, skipped)
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

      const sweeps: ReadonlyArray<Effect.Effect<boolean, Unavailable | Busy>> = [
        sweepAccounts("versions", repo.removeVersions),
        sweepAccounts("changes", repo.removeChanges),
        sweepAccounts("idempotency_records", repo.removeRecords),
        walk(tablesWalk, repo.pageTables, (idle) =>
          Effect.forEach(
            new Set(idle.map((table) => table.accountId)),
            (accountId) => ofAccount("tables", accountId, repo.removeTables),
            { discard: true }
          )
        ),
        ...pruned.map(([kind, { prune }]) => sweepAll(kind, prune(pace.rows))),
        walk(bucketsWalk, repo.pageBuckets, (idle) => batch("key_buckets", repo.removeBuckets(idle)))
      ]

      return yield* Effect.all(sweeps).pipe(
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

type Expiring = Parameters<RetentionRepo["Service"]["findExpired"]>[0]
type Remove = RetentionRepo["Service"]["removeVersions"]

interface Walk<Key> {
  after: Key | undefined
}
