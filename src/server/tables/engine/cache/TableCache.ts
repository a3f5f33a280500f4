import { Cause, Context, Effect, Exit, Fiber, FiberSet, Layer, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../../../domain/Problem.ts"
import { Settings } from "../../../Config.ts"
import type * as Admission from "../../../keys/Admission.ts"
import * as Metrics from "../../../telemetry/Metrics.ts"
import { CachedTable, type TableChange } from "./CachedTable.ts"
import { CacheEntries, type Entry, type Loading } from "./CacheEntries.ts"
import { makeCacheReads, type CacheReads, type LoadedTable, type TableRevisions } from "./CacheReads.ts"

const mib = 1_048_576

/** The rows of a table that is kept have so many bytes at most, with their overhead; and a fourth of the cache's. */
const mostBytes = 4 * mib

/** How many bytes a character takes at most in memory, where UTF-8 takes one or more. */
const widest = 2

/** Tables that are loaded at once, so that these need little memory beside the cache. Others are read by SQL meanwhile. */
const maxLoads = 4

/** For a table to load, and twice for what other instances have changed: no read waits more often. */
const maxWaits = 3

/** A revision of an account, in the server that was started at this time. */
type Moment = Pick<Admission.Moment, "revision" | "incarnation">

/**
 * Tables in memory, for reads that need no statement then. Each is known to be of one revision of its account; it answers a
 * request only if that is the revision which the request's own admission told, or a later one. So a read is never older
 * than what was answered before it came, over all instances.
 */
export class TableCache extends Context.Service<
  TableCache,
  {
    /**
     * The table as it is at the revision of a request's admission, or later. Undefined where it is to be read by SQL: the
     * first read of a table at a revision is, and only the next one loads it.
     */
    readonly at: (accountId: string, table: string, moment: Moment) => Effect.Effect<CachedTable | undefined>
    /** Tells of a commit of this process, which made this the account's revision: what it did to each changed table. */
    readonly committed: (accountId: string, moment: Moment, changes: ReadonlyMap<string, TableChange>) => void
    /** For a commit of which nobody knows whether it landed, or which is not told table by table. */
    readonly forget: (accountId: string) => void
    /** For a database that may not be the same any more: its connection was lost. */
    readonly forgetAll: () => void
  }
>()("agent-memory/server/tables/engine/cache/TableCache") {
  static readonly layer = Layer.effect(
    TableCache,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { cacheBytes } = yield* Settings
      return yield* makeTableCache(makeCacheReads(sql), cacheBytes)
    })
  )
}

/** A cache of so many bytes over these reads; with 0 bytes it never has anything. */
export const makeTableCache = Effect.fnUntraced(function* (
  reads: CacheReads,
  capacity: number
): Effect.fn.Return<TableCache["Service"], never, Scope.Scope> {
  const run = yield* FiberSet.makeRuntime<never>()
  const most = Math.min(mostBytes, capacity / 4)
  const entries = new CacheEntries(capacity)
  const refreshes = new Map<string, Fiber.Fiber<unknown, unknown>>()
  const counts = { hits: 0, misses: 0 }
  let incarnation: number | undefined
  let loads = 0
  yield* Metrics.tableCache(() => ({ ...counts, bytes: entries.bytes }))

  const clear = (): void => {
    entries.clear()
    refreshes.clear()
  }

  /** In another server, or in this one since it was started again, revisions may mean other content. */
  const enter = (moment: Moment): void => {
    if (moment.incarnation === incarnation) return
    clear()
    incarnation = moment.incarnation
  }

  /** What a read of the cache's own came to; undefined where the account is forgotten for want of it. */
  const resultOf = <A extends LoadedTable | TableRevisions>(
    accountId: string,
    exit: Exit.Exit<A | undefined, Unavailable>
  ): A | undefined => {
    if (Exit.isSuccess(exit) && exit.value !== undefined && exit.value.incarnation === incarnation) return exit.value
    if (Exit.isFailure(exit) && !Cause.hasDies(exit.cause)) clear()
    else entries.forget(accountId)
    return undefined
  }

  /** Carries an entry on to the revision of a commit, if it is of the one before. */
  const advance = (entry: Entry, revision: number, change: TableChange | undefined): boolean => {
    if (entry.revision >= revision) return true
    if (entry.revision < revision - 1) return change === undefined
    // What was too large for the cache may fit into it when rows went.
    if (entry.content === "large" && change !== undefined && change.removed.length > 0) return false
    entry.revision = revision
    if (change === undefined || !(entry.content instanceof CachedTable)) return true
    entry.content = entry.content.apply(change)
    if (entry.content.rowBytes > widest * most) entry.content = "large"
    entries.measure(entry)
    return true
  }

  const load = (accountId: string, table: string, revision: number): Effect.Effect<unknown> => {
    const fiber = run(Effect.tapDefect(reads.load(accountId, table, most), tellDefect))
    const missed: Loading["missed"] = []
    const entry = entries.add(accountId, table, { revision, content: { fiber, missed } })
    loads++
    fiber.addObserver((exit) => {
      loads--
      // It was forgotten on the way, and may be of before whatever was the reason for that.
      if (!entries.has(accountId, table, entry)) return
      const loaded = resultOf(accountId, exit)
      if (loaded === undefined) return entries.remove(accountId, table)
      entry.revision = loaded.revision
      entry.content = loaded.table ?? "large"
      entries.measure(entry)
      for (const { change, revision } of missed) {
        if (!advance(entry, revision, change)) return entries.remove(accountId, table)
      }
    })
    return Fiber.await(fiber)
  }

  /** Learns what other instances have changed, and lets go of that. */
  const refresh = (accountId: string): Effect.Effect<unknown> => {
    const flying = refreshes.get(accountId)
    if (flying !== undefined) return Fiber.await(flying)
    const fiber = run(Effect.tapDefect(reads.revisions(accountId), tellDefect))
    refreshes.set(accountId, fiber)
    fiber.addObserver((exit) => {
      // Everything was forgotten on the way.
      if (refreshes.get(accountId) !== fiber) return
      refreshes.delete(accountId)
      const found = resultOf(accountId, exit)
      if (found === undefined) return
      for (const [table, entry] of entries.of(accountId)) {
        const { content } = entry
        if (!(content instanceof CachedTable) || entry.revision >= found.revision) continue
        const changedAt = found.tables.get(table)
        // Only tables without rows are removed from the list.
        const isSame = changedAt === undefined ? content.rows.length === 0 : changedAt <= entry.revision
        if (isSame) entry.revision = found.revision
        else entries.remove(accountId, table)
      }
    })
    return Fiber.await(fiber)
  }

  const miss = Effect.sync(() => {
    counts.misses++
    return undefined
  })

  const look: (
    accountId: string,
    table: string,
    moment: Moment,
    waits: number
  ) => Effect.Effect<CachedTable | undefined> = (accountId, table, moment, waits) => {
    const { revision } = moment
    entries.settle()
    if (moment.incarnation !== incarnation) return miss
    const after = (wait: () => Effect.Effect<unknown>) =>
      waits < maxWaits ? Effect.flatMap(wait(), () => look(accountId, table, moment, waits + 1)) : miss
    const entry = entries.get(accountId, table)
    const content = entry?.content
    if (entry === undefined || (typeof content === "string" && entry.revision < revision)) {
      entries.add(accountId, table, { revision, content: "read" })
      return miss
    }
    if (content === "large") return miss
    if (content === "read") {
      return loads < maxLoads ? after(() => load(accountId, table, revision)) : miss
    }
    if (!(content instanceof CachedTable)) return after(() => Fiber.await(content!.fiber))
    if (entry.revision < revision) return after(() => refresh(accountId))
    counts.hits++
    entries.lend(entry)
    return Effect.succeed(content)
  }

  return {
    at: (accountId, table, moment) =>
      Effect.suspend(() => {
        if (capacity === 0) return Effect.undefined
        enter(moment)
        return look(accountId, table, moment, 0)
      }),
    committed: (accountId, moment, changes) => {
      enter(moment)
      const { revision } = moment
      for (const [table, entry] of entries.of(accountId)) {
        const change = changes.get(table)
        const { content } = entry
        if (typeof content !== "string" && !(content instanceof CachedTable)) content.missed.push({ revision, change })
        else if (!advance(entry, revision, change)) entries.remove(accountId, table)
      }
      entries.settle()
    },
    forget: (accountId) => entries.forget(accountId),
    forgetAll: clear
  }
})

const tellDefect = (defect: unknown) => Effect.logError("Tables in memory could not be brought up to date", defect)
