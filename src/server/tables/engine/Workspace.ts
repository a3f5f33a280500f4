import { hasConditions, matchesSystemFields, meetsConditions, type Filter } from "../../../domain/Query.ts"
import { isKeyCondition } from "../../../domain/query/Conditions.ts"
import { Look } from "../../../domain/query/Look.ts"
import { keysByField, keysMatch } from "../../../domain/keys/SortKey.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import type { ChangeOperation } from "../../../domain/Change.ts"
import type { Row } from "../../../domain/Row.ts"
import { Pace, type Turns } from "../../../domain/Turns.ts"
import type { CachedRow } from "./cache/CachedTable.ts"

/** An account's counters. `revision` grows with every committed change. */
export interface AccountState {
  readonly revision: number
  /** When the database server was started, in seconds since 1970: after another start a revision may stand for other content. */
  readonly incarnation: number
  readonly nextSeq: number
  /** The number of the next write. */
  readonly nextChange: number
  readonly storageBytes: number
  readonly rowsByTable: ReadonlyMap<string, number>
}

/** What identifies a row, whatever is written to it. */
export interface Place {
  readonly table: string
  readonly id: string
  readonly seq: number
  readonly createdAt: number
}

export interface Author {
  readonly change: number
  readonly changedBy: string
}

export interface Content {
  readonly updatedAt: number
  readonly data: JsonText
  /** Who made it in this workspace. */
  readonly author?: Author
}

/** An earlier content of a row, kept so that it can be restored. */
export interface Archived extends Author {
  readonly place: Place
  readonly version: number
  readonly content: Content
  readonly operation: "update" | "delete" | "restore"
  readonly archivedAt: number
}

/** What one write did to one row, as the account's log of changes has it. */
export interface LoggedChange extends Author {
  /** The row's place among those of the write, from 0. */
  readonly place: number
  readonly at: number
  readonly table: string
  readonly id: string
  readonly operation: ChangeOperation
  /** The version that has the row's content before the write; null where there was none, {@link noVersion} where none is kept. */
  readonly version: number | null
}

/** In the log, in place of the number of a version: what the row was before is gone for good. */
export const noVersion = 0

/** A change of a row within a write: its content before, undefined for a new or deleted row, and the version that has it. */
interface RowChange {
  readonly row: WorkRow
  readonly before: Content | undefined
  readonly operation: ChangeOperation
  readonly version: number | null
}

export const namesIn = ({ conditions, fields }: Filter): ReadonlySet<string> =>
  new Set([...fields.wanted.keys(), ...conditions.filter(isKeyCondition).map(({ name }) => name)])

type Keys = ReadonlyMap<string, string>

/** Looking at a row costs as much as going through so many characters. */
const aRow = 100

/** A row in the workspace: `stored` is what the database has, `content` what it will have. */
export class WorkRow {
  readonly place: Place
  readonly stored: Content | undefined
  content: Content | undefined
  lastVersion: number
  /** The time of the last content, also after a delete: the next content gets a later one. */
  lastUpdate: number
  /** The row and all its versions are removed for good. */
  isForgotten = false
  private readonly storedVersion: number
  /** The keys of those fields of a content that were named when it was parsed: as many as `size`, of a set that may grow. */
  private keys:
    | { readonly data: JsonText; readonly named: ReadonlySet<string>; readonly size: number; readonly map: Keys }
    | undefined

  constructor(place: Place, stored: Content | undefined, lastVersion: number, lastUpdate: number) {
    this.place = place
    this.stored = stored
    this.content = stored
    this.lastVersion = lastVersion
    this.lastUpdate = lastUpdate
    this.storedVersion = lastVersion
  }

  get isTouched(): boolean {
    return this.isForgotten || this.content !== this.stored || this.lastVersion !== this.storedVersion
  }

  get row(): Row {
    const content = this.content!
    return { id: this.place.id, createdAt: this.place.createdAt, updatedAt: content.updatedAt, data: content.data }
  }

  /** Whether a live row is what a filter finds. `named` has the filter's fields, and only grows. */
  matches(filter: Filter, named: ReadonlySet<string>, pace: Pace): boolean {
    if (this.content === undefined || !matchesSystemFields(filter, this.row)) return false
    const { conditions, fields } = filter
    const keys = fields.wanted.size > 0 || conditions.some(isKeyCondition) ? this.knownKeys(named, pace) : undefined
    if (keys !== undefined && !keysMatch(keys, fields.wanted)) return false
    return !hasConditions(filter) || meetsConditions(filter, new Look(this.row, pace, keys))
  }

  private knownKeys(named: ReadonlySet<string>, pace: Pace): Keys {
    const { data } = this.content!
    if (this.keys?.data !== data || this.keys.named !== named || this.keys.size !== named.size) {
      this.keys = { data, named, size: named.size, map: keysByField(data, named) }
      pace.count(data.text.length)
    }
    return this.keys.map
  }
}

/** A row that is stored as it is here. */
export const liveRow = (table: string, { createdAt, data, id, lastVersion, seq, updatedAt }: CachedRow): WorkRow =>
  new WorkRow({ table, id, seq, createdAt }, { updatedAt, data }, lastVersion, updatedAt)

/**
 * The part of one account that a group of writes touches, in memory. Writes change it one after another, each as a whole
 * or (with `undo`) not at all. Then it is stored in one statement, if the account is still at `revision`.
 */
export class Workspace {
  readonly revision: number
  readonly rows = new Map<string, WorkRow>()
  readonly archived: Array<Archived> = []
  readonly changes: Array<RowChange> = []
  readonly logged: Array<LoggedChange> = []
  readonly rowsByTable: Map<string, number>
  nextSeq: number
  nextChange: number
  storageBytes: number
  readonly pace = new Pace()
  /** How many characters filters have gone through. */
  looked = 0
  /** The fields that filters name: rows keep no keys of others. */
  private readonly named: Set<string>
  private readonly undoLog: Array<() => void> = []

  /** `filters` are those that writes are going to use, as far as that is known: then each row is parsed once for all of them. */
  constructor(account: AccountState, filters: ReadonlyArray<Filter> = []) {
    this.named = new Set(filters.flatMap((filter) => [...namesIn(filter)]))
    this.revision = account.revision
    this.nextSeq = account.nextSeq
    this.nextChange = account.nextChange
    this.storageBytes = account.storageBytes
    this.rowsByTable = new Map(account.rowsByTable)
  }

  get tables(): number {
    let tables = 0
    for (const rows of this.rowsByTable.values()) if (rows > 0) tables++
    return tables
  }

  rowCount(table: string): number {
    return this.rowsByTable.get(table) ?? 0
  }

  /** The account after so many commits have stored everything, on the server started at `incarnation`. */
  after(commits: number, incarnation: number): AccountState {
    const { nextChange, nextSeq, revision, rowsByTable, storageBytes } = this
    return { revision: revision + commits, incarnation, nextSeq, nextChange, storageBytes, rowsByTable }
  }

  load(row: WorkRow): void {
    if (!this.rows.has(row.place.id)) this.rows.set(row.place.id, row)
  }

  *find(table: string, filter: Filter): Turns<ReadonlyArray<WorkRow>> {
    const { named, pace } = this
    const before = pace.done
    for (const name of namesIn(filter)) named.add(name)
    const found: Array<WorkRow> = []
    const candidates = filter.id === undefined ? this.rows.values() : [this.rows.get(filter.id)]
    for (const row of candidates) {
      if (row?.place.table !== table) continue
      pace.count(aRow)
      if (row.matches(filter, named, pace)) found.push(row)
      if (pace.isDue) yield* pace.pause()
    }
    this.looked += pace.done - before
    return found.toSorted((a, b) => a.place.seq - b.place.seq)
  }

  live(table: string, id: string): WorkRow | undefined {
    const row = this.rows.get(id)
    return row?.place.table === table && row.content !== undefined ? row : undefined
  }

  /** Adds a row after all others. `lastVersion` is the highest number of its archived versions, if it has any. */
  insert(
    table: string,
    { createdAt, data, id, updatedAt }: Row,
    by: string,
    operation: "add" | "import" = "add",
    lastVersion = 0
  ): WorkRow {
    const row = new WorkRow({ table, id, seq: this.nextSeq++, createdAt }, undefined, lastVersion, updatedAt)
    this.rows.set(id, row)
    this.undoLog.push(() => {
      this.rows.delete(id)
      this.nextSeq--
    })
    this.set(row, { updatedAt, data, author: { change: this.nextChange, changedBy: by } }, operation, null)
    return row
  }

  /** Replaces a row's content (or removes it with `undefined`), archiving what was there. */
  replace(row: WorkRow, data: JsonText | undefined, operation: Archived["operation"], by: string, now: number): void {
    const previous = row.content
    const author = { change: this.nextChange, changedBy: by }
    const version = previous === undefined ? null : ++row.lastVersion
    if (previous !== undefined && version !== null) {
      // Changes within one millisecond get increasing times, and nothing is archived before it was made.
      const archivedAt = Math.max(now, previous.updatedAt)
      this.archived.push({ place: row.place, version, content: previous, operation, ...author, archivedAt })
      this.undoLog.push(() => {
        this.archived.pop()
        row.lastVersion--
      })
    }
    const updatedAt = Math.max(now, row.lastUpdate + 1)
    this.set(row, data === undefined ? undefined : { updatedAt, data, author }, operation, version)
  }

  /** Removes a row, live or deleted, with all its versions: nothing is archived. */
  forget(row: WorkRow): void {
    this.set(row, undefined, "delete", noVersion)
    const { isForgotten } = row
    row.isForgotten = true
    this.undoLog.push(() => void (row.isForgotten = isForgotten))
  }

  /**
   * Gives the changes from the one at index `from` on a number, that of the next write; undefined where there are none. The
   * log gets one entry for each row: what the write as a whole did to it.
   */
  log(from: number, at: number, changedBy: string): number | undefined {
    const change = this.nextChange
    const byRow = Map.groupBy(this.changes.slice(from), ({ row }) => row.place.id)
    for (const [id, changes] of byRow) {
      const { before, operation: first, version } = changes[0]!
      const { operation: last, row } = changes.at(-1)!
      const operation = row.content !== undefined && before === undefined ? first : last
      const place = this.nextChange++ - change
      this.logged.push({ change, place, at, table: row.place.table, id, operation, version, changedBy })
    }
    return byRow.size === 0 ? undefined : change
  }

  private set(row: WorkRow, content: Content | undefined, operation: ChangeOperation, version: number | null): void {
    const { content: previous, lastUpdate } = row
    const { rowsByTable, storageBytes } = this
    const rows = this.rowCount(row.place.table)
    this.changes.push({ row, before: previous, operation, version })
    this.undoLog.push(() => {
      this.changes.pop()
      row.content = previous
      row.lastUpdate = lastUpdate
      this.storageBytes = storageBytes
      rowsByTable.set(row.place.table, rows)
    })
    row.content = content
    if (content !== undefined) row.lastUpdate = content.updatedAt
    this.storageBytes += (content?.data.bytes ?? 0) - (previous?.data.bytes ?? 0)
    rowsByTable.set(row.place.table, rows + (content === undefined ? 0 : 1) - (previous === undefined ? 0 : 1))
  }

  /** A point to go back to with `undo`. */
  mark(): number {
    return this.undoLog.length
  }

  undo(mark: number): void {
    while (this.undoLog.length > mark) this.undoLog.pop()!()
  }
}
