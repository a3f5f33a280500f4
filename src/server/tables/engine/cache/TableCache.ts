import { Cause, Context, Effect, Exit, Fiber, FiberSet, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../../../domain/Account.ts"
import * as Metrics from "../../../telemetry/Metrics.ts"
import type { Moment as AdmittedMoment } from "../../../../domain/Actor.ts"
import type { Unavailable } from "../../../../domain/Problem.ts"
import { Settings } from "../../../config/Settings.ts"
import { CachedTable, rowOverhead, type CachedRow, type TableChange } from "./CachedTable.ts"
import { CacheEntries, type Entry, type Loading } from "./CacheEntries.ts"
import { rowOf, type StoredRow } from "../../../sql/SharedSql.ts"
import { refine } from "../../../sql/SqlFailure.ts"
import { inTurns } from "../../../../domain/Turns.ts"
import { traced } from "../../../telemetry/Telemetry.ts"

const mib = 1_048_576

/** The most bytes of a cached table's rows with their overhead; a fourth of the cache if that is less. */
const mostBytes = 4 * mib

/** The most bytes in memory for each byte of UTF-8. */
const widest = 2

/** How many tables are loaded at once, since they take memory beside the cache. Others are read by SQL meanwhile. */
const maxLoads = 4

/** How often a read waits: for a table to load, and twice for what other instances have changed. */
const maxWaits = 3

/** A revision of an account, in the server that was started at this time. */
type Moment = Pick<AdmittedMoment, "revision" | "incarnation">

/**
 * Tables in memory, for reads without a statement. Each is of one revision of its account, and serves a request only if that
 * is the revision of the request's admission, or a later one. So no read is older than any response before the request,
 * over all instances.
 */
export class TableCache extends Context.Service<TableCache>()("agent-memory/server/tables/engine/cache/TableCache", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { cacheBytes } = yield* Settings
    return yield* makeTableCache(makeCacheReads(sql), cacheBytes)
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/** A cache of so many bytes over these reads; with 0 bytes it never has anything. */
export const makeTableCache = Effect.fnUntraced(function* (reads: CacheReads, capacity: number) {
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

  /** On another server, or after a restart, revisions may stand for other content. */
  const enter = (moment: Moment): void => {
    if (moment.incarnation === incarnation) return
    clear()
    incarnation = moment.incarnation
  }

  /** The result of a load or refresh; undefined after a failure, for which the account is forgotten. */
  const resultOf = <A extends LoadedTable | TableRevisions>(
    accountId: AccountId,
    exit: Exit.Exit<A | undefined, Unavailable>
  ): A | undefined => {
    if (Exit.isSuccess(exit) && exit.value !== undefined && exit.value.incarnation === incarnation) return exit.value
    if (Exit.isFailure(exit) && !Cause.hasDies(exit.cause)) clear()
    else entries.forget(accountId)
    return undefined
  }

  /** Advances an entry to the revision of a commit, if it is of the one before. */
  const advance = (entry: Entry, revision: number, change: TableChange | undefined): boolean => {
    if (entry.revision >= revision) return true
    if (entry.revision < revision - 1) return change === undefined
    // A table that was too large may fit once rows are removed.
    if (entry.content === "large" && change !== undefined && change.removed.length > 0) return false
    entry.revision = revision
    if (change === undefined || !(entry.content instanceof CachedTable)) return true
    // A change that makes the table too large is not copied.
    entry.content = storedBytes(change) > most ? "large" : entry.content.apply(change)
    if (entry.content instanceof CachedTable && entry.content.rowBytes > widest * most) entry.content = "large"
    entries.measure(entry)
    return true
  }

  const load = (accountId: AccountId, table: string, revision: number): Effect.Effect<unknown> => {
    const fiber = run(Effect.tapDefect(reads.load(accountId, table, most), logDefect))
    const missed: Loading["missed"] = []
    const entry = entries.add(accountId, table, { revision, content: { fiber, missed } })
    loads++
    fiber.addObserver((exit) => {
      loads--
      // It was forgotten meanwhile, and may be older than the reason for that.
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

  /** Drops the tables that other instances have changed. */
  const refresh = (accountId: AccountId): Effect.Effect<unknown> => {
    const flying = refreshes.get(accountId)
    if (flying !== undefined) return Fiber.await(flying)
    const fiber = run(Effect.tapDefect(reads.revisions(accountId), logDefect))
    refreshes.set(accountId, fiber)
    fiber.addObserver((exit) => {
      // Everything was forgotten meanwhile.
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
    accountId: AccountId,
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
    /**
     * The table at the revision of a request's admission, or a later one. Undefined when it is to be read by SQL: the first
     * read of a table at a revision is, and only the next one loads it.
     */
    at: (accountId: AccountId, table: string, moment: Moment): Effect.Effect<CachedTable | undefined> =>
      Effect.suspend(() => {
        if (capacity === 0) return Effect.undefined
        enter(moment)
        return look(accountId, table, moment, 0)
      }),
    /** After a commit of this process, which made this the account's revision: what it did to each changed table. */
    committed: (accountId: AccountId, moment: Moment, changes: ReadonlyMap<string, TableChange>): void => {
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
    /** After a commit of unknown outcome, or one in slices. */
    forget: (accountId: AccountId): void => entries.forget(accountId),
    /** The accounts of which tables are in memory. */
    accounts: (): ReadonlyArray<AccountId> => entries.known(),
    /** After a lost connection: the database may not be the same any more. */
    forgetAll: clear
  }
})

const storedBytes = ({ stored }: TableChange): number => stored.reduce((sum, { data }) => sum + data.bytes, 0)

const logDefect = (defect: unknown) => Effect.logError("Tables in memory could not be updated", defect)

export interface LoadedTable extends Moment {
  /** Undefined where the table is too large. */
  readonly table: CachedTable | undefined
}

export interface TableRevisions extends Moment {
  /** The revision at which each of the account's tables last changed. Tables that were never written have none. */
  readonly tables: ReadonlyMap<string, number>
}

/** What the cache reads; undefined for an unknown account. */
export interface CacheReads {
  /** The table, unless its rows have more than `most` bytes with their overhead. */
  readonly load: (
    accountId: AccountId,
    table: string,
    most: number
  ) => Effect.Effect<LoadedTable | undefined, Unavailable>
  readonly revisions: (accountId: AccountId) => Effect.Effect<TableRevisions | undefined, Unavailable>
}

interface LoadedRow extends Moment, StoredRow {
  readonly bytes: number
  readonly seq: number | null
  readonly last_version: number
}

const cachedRow = (row: LoadedRow): CachedRow => ({ ...rowOf(row), seq: row.seq!, lastVersion: row.last_version })

/** The SQL of the cache. Each read is one statement, so that rows and revision are of one snapshot. */
export const makeCacheReads = (sql: SqlClient.SqlClient): CacheReads => {
  // OFFSET keeps PostgreSQL from even looking for the rows of a table that is too large.
  const load = traced("TableCache.load")(function* (accountId: AccountId, table: string, most: number) {
    const found = yield* refine(sql<LoadedRow>`
      SELECT a.revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation,
        t.bytes, r.seq::float8 AS seq, r.id, r.created_at, r.updated_at, r.last_version, r.data
      FROM accounts a
      CROSS JOIN LATERAL (
        SELECT coalesce(sum(octet_length(data) + ${rowOverhead}::integer), 0)::float8 AS bytes
        FROM rows
        WHERE account_id = a.account_id AND table_name = ${table}
      ) t
      LEFT JOIN LATERAL (
        SELECT seq, id, created_at, updated_at, last_version, data
        FROM rows
        WHERE t.bytes <= ${most}::float8 AND account_id = a.account_id AND table_name = ${table}
        OFFSET 0
      ) r ON true
      WHERE a.account_id = ${accountId}
      ORDER BY r.seq
    `)
    const first = found[0]
    if (first === undefined) return undefined
    const { bytes, incarnation, revision } = first
    if (bytes > most) return { revision, incarnation, table: undefined }
    const rows = first.seq === null ? [] : found
    return { revision, incarnation, table: yield* inTurns(CachedTable.from(Iterator.from(rows).map(cachedRow))) }
  })

  const revisions = traced("TableCache.revisions")(function* (accountId: AccountId) {
    const [found] = yield* refine(sql<
      Moment & { readonly names: ReadonlyArray<string>; readonly revisions: ReadonlyArray<number> }
    >`
      SELECT a.revision::float8 AS revision, extract(epoch FROM pg_postmaster_start_time())::float8 AS incarnation,
        t.names, t.revisions
      FROM accounts a
      CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(name), '{}') AS names, coalesce(array_agg(revision::float8), '{}') AS revisions
        FROM tables
        WHERE account_id = a.account_id
      ) t
      WHERE a.account_id = ${accountId}
    `)
    if (found === undefined) return undefined
    const { incarnation, names, revision, revisions } = found
    return { revision, incarnation, tables: new Map(names.map((name, index) => [name, revisions[index]!])) }
  })

  return { load, revisions }
}
