import { matchesSystemFields, type Filter } from "../../domain/Filter.ts"
import { facetMap, mapMatches } from "../../domain/facets/FacetMap.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import type { Row } from "../../domain/Row.ts"
import { Pace, type Turns } from "./Turns.ts"

/** What an account holds, as counted in its own record. `revision` grows with every committed change. */
export interface AccountState {
  readonly revision: number
  readonly nextSeq: number
  readonly storageBytes: number
  readonly rowsByTable: ReadonlyMap<string, number>
}

/** A row's place in the account; it stays the same over updates, deletes and restores. */
export interface Place {
  readonly table: string
  readonly id: string
  readonly seq: number
  readonly createdAt: number
}

/** What a live row holds at one moment. */
export interface Content {
  readonly updatedAt: number
  readonly data: JsonText
}

/** An earlier content of a row, kept so that it can be restored. */
export interface Archived {
  readonly place: Place
  readonly version: number
  readonly content: Content
  readonly operation: "update" | "delete" | "restore"
  readonly changedBy: string
  readonly archivedAt: number
}

/** A row in the workspace: `stored` is what the database has, `content` what it will have. */
export class WorkRow {
  readonly place: Place
  readonly stored: Content | undefined
  content: Content | undefined
  lastVersion: number
  /** The time of the row's last content, also when that is deleted by now: the next one's is later. */
  lastUpdate: number
  private readonly storedVersion: number
  private facets: { readonly data: JsonText; readonly map: ReadonlyMap<string, string> } | undefined

  constructor(place: Place, stored: Content | undefined, lastVersion: number, lastUpdate: number) {
    this.place = place
    this.stored = stored
    this.content = stored
    this.lastVersion = lastVersion
    this.lastUpdate = lastUpdate
    this.storedVersion = lastVersion
  }

  get isTouched(): boolean {
    return this.content !== this.stored || this.lastVersion !== this.storedVersion
  }

  get row(): Row {
    const content = this.content!
    return { id: this.place.id, createdAt: this.place.createdAt, updatedAt: content.updatedAt, data: content.data }
  }

  matches(filter: Filter): boolean {
    if (this.content === undefined || !matchesSystemFields(filter, this.row)) return false
    if (filter.fields.wanted.size === 0) return true
    if (this.facets?.data !== this.content.data) {
      this.facets = { data: this.content.data, map: facetMap(this.content.data) }
    }
    return mapMatches(this.facets.map, filter.fields.wanted)
  }
}

/**
 * The part of one account that a group of writes touches, in memory. Writes change it one after another, each wholly
 * or (with `undo`) not at all; `changes` is then stored in one statement, if the account is still at `revision`.
 */
export class Workspace {
  readonly revision: number
  readonly rows = new Map<string, WorkRow>()
  readonly archived: Array<Archived> = []
  readonly rowsByTable: Map<string, number>
  nextSeq: number
  storageBytes: number
  readonly pace = new Pace()
  private readonly undoLog: Array<() => void> = []

  constructor(account: AccountState) {
    this.revision = account.revision
    this.nextSeq = account.nextSeq
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

  /** What the account is once so many commits have stored everything. */
  after(commits: number): AccountState {
    const { nextSeq, revision, rowsByTable, storageBytes } = this
    return { revision: revision + commits, nextSeq, storageBytes, rowsByTable }
  }

  /** Makes a row known as the database has it. */
  load(row: WorkRow): void {
    const known = this.rows.get(row.place.id)
    if (known === undefined) this.rows.set(row.place.id, row)
  }

  *find(table: string, filter: Filter): Turns<ReadonlyArray<WorkRow>> {
    const found: Array<WorkRow> = []
    for (const row of this.candidates(filter)) {
      if (row.place.table !== table) continue
      if (row.matches(filter)) found.push(row)
      yield* this.pace.worked(row.content?.data.text.length ?? 0)
    }
    return found.toSorted((a, b) => a.place.seq - b.place.seq)
  }

  private *candidates(filter: Filter): Iterable<WorkRow> {
    if (filter.id === undefined) return yield* this.rows.values()
    const row = this.rows.get(filter.id)
    if (row !== undefined) yield row
  }

  live(table: string, id: string): WorkRow | undefined {
    const row = this.rows.get(id)
    return row?.place.table === table && row.content !== undefined ? row : undefined
  }

  /** Adds a row behind all others. `lastVersion` is how far the numbers of its archived versions have come, if it has any. */
  insert(table: string, { createdAt, data, id, updatedAt }: Row, lastVersion = 0): WorkRow {
    const row = new WorkRow({ table, id, seq: this.nextSeq++, createdAt }, undefined, lastVersion, updatedAt)
    this.rows.set(id, row)
    this.undoLog.push(() => {
      this.rows.delete(id)
      this.nextSeq--
    })
    this.set(row, { updatedAt, data })
    return row
  }

  /** Replaces a row's content (or removes it with `undefined`), archiving what was there. */
  replace(row: WorkRow, data: JsonText | undefined, operation: Archived["operation"], by: string, now: number): void {
    const previous = row.content
    if (previous !== undefined) {
      const version = ++row.lastVersion
      this.archived.push({ place: row.place, version, content: previous, operation, changedBy: by, archivedAt: now })
      this.undoLog.push(() => {
        this.archived.pop()
        row.lastVersion--
      })
    }
    const updatedAt = Math.max(now, row.lastUpdate + 1)
    this.set(row, data === undefined ? undefined : { updatedAt, data })
  }

  private set(row: WorkRow, content: Content | undefined): void {
    const { content: previous, lastUpdate } = row
    const { rowsByTable, storageBytes } = this
    const rows = this.rowCount(row.place.table)
    this.undoLog.push(() => {
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
