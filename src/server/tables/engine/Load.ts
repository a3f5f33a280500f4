import { Effect } from "effect"
import type { AccountId } from "../../../domain/Account.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import type { Limits } from "../../../domain/Limits.ts"
import type { Filter } from "../../../domain/Query.ts"
import { recordId, requestScope, restorableId, type Loaded, type RecordKey, type WriteRequest } from "./Evaluation.ts"
import { isRowId } from "../../../domain/Row.ts"
import { kindOf, selectorOf, type Write } from "../operations/Operations.ts"
import { liveRow, type WorkRow, Workspace, type AccountState } from "./Workspace.ts"
import type { WantedDeleted, WantedVersion } from "./FindHistory.ts"
import type { WantedUndo } from "./FindUndoable.ts"
import type { Found, SnapshotRepo } from "./SnapshotRepo.ts"
import type { Selector, Selects } from "../operations/OperationKind.ts"
import { inTurns, Pace, type Turns } from "../../../domain/Turns.ts"
import type { CachedRow, CachedTable } from "./cache/CachedTable.ts"
import type { TableCache } from "./cache/TableCache.ts"

/** What is remembered of an account, and the rows that a group selects where those are in memory. */
export interface Known {
  readonly state: AccountState
  readonly cached: CachedSelection | undefined
}

/** What a group of writes is evaluated on. */
export interface Snapshot {
  readonly account: AccountState
  readonly workspace: Workspace
  readonly loaded: Loaded
  /** Nothing was read for it, so a refusal, or that nothing changes, may be out of date. */
  readonly isRemembered: boolean
}

/** What the writes of a group want, as `of` says, one after another. */
const wanted = <A>(
  requests: ReadonlyArray<WriteRequest>,
  of: (kind: ReturnType<typeof kindOf>, write: Write, table: string) => A | undefined
): ReadonlyArray<A> =>
  requests.flatMap(({ table, writes }) =>
    writes.map((write) => of(kindOf(write), write, table)).filter((one) => one !== undefined)
  )

/** Whether a group can be evaluated on what is remembered of its account alone, as adds can. */
export const readsNothing = (requests: ReadonlyArray<WriteRequest>): boolean =>
  requests.every(({ writes }) =>
    writes.every((write) => {
      const { ids, selects, undoes } = kindOf(write)
      return selects === undefined && ids === undefined && undoes === undefined
    })
  )

export const remembered = (
  account: AccountState,
  rows: ReadonlyArray<WorkRow> = [],
  requests: ReadonlyArray<WriteRequest> = []
): Snapshot => snapshotOf(account, rows, nothingLoaded, requests, true)

/** For writes that need nothing of the database. */
export const nothingLoaded: Loaded = {
  records: new Map(),
  restorable: new Map(),
  idOwners: new Map(),
  undoable: [],
  deleted: []
}

const filtersOf = (requests: ReadonlyArray<WriteRequest>): ReadonlyArray<Filter> =>
  wanted(requests, (kind, write) => {
    const selects = kind.selects?.(write)
    return selects !== undefined && "filter" in selects ? selects.filter : undefined
  })

const versionsOf = (requests: ReadonlyArray<WriteRequest>): ReadonlyArray<WantedVersion> =>
  wanted(requests, (kind, write, table) => {
    const version = kind.version?.(write)
    return version === undefined || !isRowId(version.id) ? undefined : { table, ...version }
  })

/** The write that is to be undone, of which a group has one at most. */
export const undoOf = (requests: ReadonlyArray<WriteRequest>): WantedUndo | undefined =>
  wanted(requests, (kind, write) => kind.undoes?.(write))[0]

/** The deleted rows that are to be removed for good, for which a group has one write at most. */
export const deletedOf = (requests: ReadonlyArray<WriteRequest>): WantedDeleted | undefined =>
  wanted(requests, (kind, write, table) => {
    const filter = kind.forgets?.(write)
    return filter === undefined || filter.isImpossible ? undefined : { table, filter }
  })[0]

/**
 * Reads what a group of writes needs of its account, except what is `known` and rows that are in memory. Gives no snapshot
 * when the account changed between its statements.
 */
export const makeLoad = (repo: SnapshotRepo["Service"], { versionDays }: Limits) =>
  Effect.fnUntraced(function* (accountId: AccountId, requests: ReadonlyArray<WriteRequest>, known: Known | undefined) {
    const cached = known?.cached
    const restores = versionsOf(requests)
    const ids = wanted(requests, (kind, write) => kind.ids?.(write)).flat()
    const undo = undoOf(requests)
    const forgotten = deletedOf(requests)
    const needsNoMore = restores.length === 0 && ids.length === 0 && undo === undefined && forgotten === undefined
    if (known !== undefined && cached !== undefined && needsNoMore) {
      return remembered(known.state, cached.rows, requests)
    }
    const selectors = cached === undefined ? selectorsOf(requests) : []
    const keys = known === undefined ? recordKeysOf(requests) : []
    const [account, rows, versions, records, owners, undoable, deleted] = yield* Effect.all(
      [
        known === undefined ? repo.account(accountId) : Effect.succeed(known.state),
        selectors.length === 0 ? Effect.undefined : repo.rows(accountId, selectors),
        restores.length === 0 ? Effect.undefined : repo.versions(accountId, restores, versionDays),
        keys.length === 0 ? Effect.undefined : repo.records(accountId, keys),
        ids.length === 0 ? Effect.undefined : repo.idOwners(accountId, ids, versionDays),
        undo === undefined ? Effect.undefined : repo.undoable(accountId, undo, versionDays),
        forgotten === undefined ? Effect.undefined : repo.deleted(accountId, forgotten)
      ],
      { concurrency: "unbounded" }
    )
    const isOneSnapshot = [rows, versions, records, owners, undoable, deleted].every(
      (part) => part === undefined || part.revision === account.revision
    )
    if (!isOneSnapshot) return undefined
    const restorable = new Map<string, { readonly row: WorkRow; readonly versions: Map<number, JsonText> }>()
    for (const { data, row, version } of versions?.found ?? []) {
      const id = restorableId(row.place.table, row.place.id)
      const one = restorable.get(id) ?? { row, versions: new Map<number, JsonText>() }
      if (data !== undefined) one.versions.set(version, data)
      restorable.set(id, one)
    }
    const loaded = {
      records: new Map((records?.found ?? []).map((record) => [recordId(record.scope, record.key), record])),
      restorable,
      idOwners: Map.groupBy(owners?.found ?? [], ({ id }) => id),
      undoable: undoable?.found ?? [],
      deleted: deleted?.found ?? []
    }
    const isRemembered = cached !== undefined
    return snapshotOf(account, cached?.rows ?? rows?.found ?? [], loaded, requests, isRemembered)
  })

const snapshotOf = (
  account: AccountState,
  rows: ReadonlyArray<WorkRow>,
  loaded: Loaded,
  requests: ReadonlyArray<WriteRequest>,
  isRemembered: boolean
): Snapshot => {
  const workspace = new Workspace(account, filtersOf(requests))
  for (const row of rows) workspace.load(row)
  return { account, workspace, loaded, isRemembered }
}

/** The rows that the writes may act on; those that several operations name are read once. */
export const selectorsOf = (requests: ReadonlyArray<WriteRequest>): ReadonlyArray<Selector> => {
  const selectors = wanted(requests, (_, write, table) => selectorOf(write, table))
  return [...new Map(selectors.map((selector) => [selectorKey(selector), selector])).values()]
}

/** Equal for selectors that find the same rows. */
export const selectorKey = ({ createdAt, fields, id, table, text, updatedAt, words }: Selector): string =>
  [table, id, createdAt, updatedAt, fields.short, fields.long, text, ...words].join("\n")

/** The keys of the kept responses that the requests may repeat; each is read once, however many requests name it. */
export const recordKeysOf = (requests: ReadonlyArray<WriteRequest>): ReadonlyArray<RecordKey> => {
  const keys = new Map<string, RecordKey>()
  const want = (scope: string, key: string) => keys.set(recordId(scope, key), { scope, key })
  for (const { idempotency, operation, table, writes } of requests) {
    if (idempotency !== undefined) want(requestScope(operation, table), idempotency.key)
    for (const write of writes) {
      const own = kindOf(write).ownKey?.(write)
      if (own !== undefined) want(requestScope(write.action, table), own)
    }
  }
  return [...keys.values()]
}

/** The rows that a group of writes may act on, from tables in memory. */
export interface CachedSelection {
  readonly rows: ReadonlyArray<WorkRow>
  /** What a selector of the group finds. */
  readonly found: (selector: Selector) => Found
}

/** How many bytes of rows a group may have parsed: for more, the database's index is faster. */
const mostParsed = 16 * 1_048_576

function* selected(table: CachedTable, selects: Selects): Turns<ReadonlyArray<CachedRow>> {
  if ("id" in selects) {
    const row = table.find(selects.id)
    return row === undefined ? [] : [row]
  }
  return (yield* table.query({ filter: selects.filter, sort: undefined, limit: Number.POSITIVE_INFINITY })).rows
}

/**
 * Finds the rows of a group in memory; undefined when one of its tables is not in memory, or too much would have to be
 * parsed. The tables are at the revision of the known state or a later one: only a commit proves which, so without one the
 * group has to be read again.
 */
export const selectCached = Effect.fnUntraced(function* (
  cache: TableCache["Service"],
  accountId: AccountId,
  requests: ReadonlyArray<WriteRequest>,
  known: AccountState
): Effect.fn.Return<CachedSelection | undefined> {
  const rows = new Map<string, WorkRow>()
  const sizes = new Map<string, Found>()
  const pace = new Pace()
  let parsed = 0
  for (const { table, writes } of requests) {
    for (const write of writes) {
      const selector = selectorOf(write, table)
      if (selector === undefined || sizes.has(selectorKey(selector))) continue
      const cached = yield* cache.at(accountId, table, known)
      if (cached === undefined) return undefined
      const selects = kindOf(write).selects!(write)
      // One that names no id may look at every row of the table.
      const filter = "filter" in selects && selects.filter.id === undefined ? selects.filter : undefined
      if (filter !== undefined && !cached.knows(filter)) parsed += cached.rowBytes
      if (parsed > mostParsed) return undefined
      const found = yield* inTurns(selected(cached, selects))
      sizes.set(selectorKey(selector), {
        rows: found.length,
        bytes: found.reduce((sum, { data }) => sum + data.bytes, 0)
      })
      for (const row of found) if (!rows.has(row.id)) rows.set(row.id, liveRow(table, row))
      if (filter !== undefined) yield* inTurns(pace.worked(cached.rowBytes))
    }
  }
  return { rows: [...rows.values()], found: (selector) => sizes.get(selectorKey(selector))! }
})
