import type { Filter, Query } from "../../../../domain/Query.ts"
import { isBehind } from "../../../../domain/query/Cursor.ts"
import { JsonText } from "../../../../domain/json/JsonText.ts"
import type { Row } from "../../../../domain/Row.ts"
import { Pace, type Turns } from "../../../../domain/Turns.ts"
import { fieldsIn, Summary, type Summing } from "../../../../domain/query/Summary.ts"
import { fieldsOf, type TableFields } from "../../../../domain/query/Fields.ts"
import {
  ValuePlaces,
  arrayBytes,
  firstPlace,
  mapBytes,
  numberBytes,
  objectBytes,
  ownText,
  textBytes
} from "./Column.ts"
import { FieldKeys } from "./FieldKeys.ts"
import type { WorkRow } from "../Workspace.ts"

/** A live row, with what writes need of it. */
export interface CachedRow extends Row {
  readonly seq: number
  readonly lastVersion: number
}

/** What a commit does to one table. */
export interface TableChange {
  /** Rows that are new or have another content, in any order. */
  readonly stored: ReadonlyArray<CachedRow>
  readonly removed: ReadonlyArray<string>
}

/** The bytes of a row beside its text. */
export const rowOverhead = 256

/** For a commit that changes more rows, computing the keys anew is cheaper. */
const mostEdits = 32

/**
 * The live rows of one table at one moment, immutable. What its queries have computed is kept beside the rows up to a limit,
 * and is handed on to the table that a commit makes of it.
 */
export class CachedTable {
  /** In insertion order. */
  readonly rows: ReadonlyArray<CachedRow>
  /** The heap bytes of the rows. */
  readonly rowBytes: number
  private readonly keys: FieldKeys
  private readonly values: ValuePlaces
  private known: TableFields | undefined
  private byId: Map<string, CachedRow> | undefined

  private constructor(rows: ReadonlyArray<CachedRow>, rowBytes: number, keys: FieldKeys) {
    this.rows = rows
    this.rowBytes = rowBytes
    this.keys = keys
    this.values = new ValuePlaces(rows)
  }

  /** A table of rows in insertion order, made in turns. Their texts must not be slices of larger ones. */
  static *from(found: Iterable<CachedRow>): Turns<CachedTable> {
    const rows: Array<CachedRow> = []
    const pace = new Pace()
    let bytes = 0
    for (const row of found) {
      rows.push(row)
      bytes += bytesOf(row)
      yield* pace.worked(rowOverhead + row.data.text.length)
    }
    return new CachedTable(rows, bytes, new FieldKeys(rows, bytes))
  }

  /** The heap bytes of the table, with what is kept beside its rows. */
  get bytes(): number {
    const { byId, keys, known, rowBytes, rows, values } = this
    const beside = keys.bytes + values.bytes + (known === undefined ? 0 : fieldsBytes(known))
    return objectBytes(6) + rowBytes + arrayBytes(rows.length) + (byId ? mapBytes(byId.size) : 0) + beside
  }

  find(id: string): CachedRow | undefined {
    this.byId ??= new Map(this.rows.map((row) => [row.id, row]))
    return this.byId.get(id)
  }

  /** At most `limit` of the rows that match, and whether there are more. */
  *query({ after, filter, limit, sort }: Query): Turns<{
    readonly rows: ReadonlyArray<CachedRow>
    readonly hasMore: boolean
  }> {
    if (filter?.isImpossible === true) return { rows: [], hasMore: false }
    const pace = new Pace()
    const matches = this.matcher(filter, pace)
    const order = yield* this.order(filter?.id, sort)
    const rows: Array<CachedRow> = []
    let hasMore = false
    const isDescending = sort?.descending === true
    const places = order === undefined ? this.rows.length : order.length
    for (let place = 0; place < places; place++) {
      const index = order === undefined ? place : order[place]!
      const row = this.rows[index]!
      if (after !== undefined && !isBehind(after, isDescending, row)) continue
      if (matches === undefined || matches(index)) {
        hasMore = rows.length === limit
        if (hasMore) break
        rows.push(row)
      }
      if (pace.isDue) yield* pace.pause()
    }
    this.keys.settle()
    return { rows, hasMore }
  }

  /** Whether a filter needs no parsing of rows. */
  knows(filter: Filter): boolean {
    return this.keys.knows(filter)
  }

  *count(filter: Filter | undefined): Turns<number> {
    if (filter === undefined || filter.isEmpty) return this.rows.length
    const pace = new Pace()
    const matches = this.matcher(filter, pace)!
    let count = 0
    for (let index = 0; index < this.rows.length; index++) {
      if (matches(index)) count++
      if (pace.isDue) yield* pace.pause()
    }
    this.keys.settle()
    return count
  }

  /** The fields of all rows, which are looked at once. */
  *fields(): Turns<TableFields> {
    this.known ??= yield* fieldsOf(this.rows)
    return this.known
  }

  /** What the rows that match add up to. */
  *summarize(filter: Filter | undefined, summing: Summing): Turns<Summary> {
    const valueAt = yield* this.values.learn(fieldsIn(summing))
    const summary = new Summary(summing)
    const pace = new Pace()
    const matches = this.matcher(filter, pace)
    let index = 0
    const value = (place: number) => valueAt(index, place)
    for (; index < this.rows.length; index++) {
      if (matches?.(index) !== false) pace.count(summary.see(value))
      if (pace.isDue) yield* pace.pause()
    }
    this.keys.settle()
    return summary
  }

  /** The table after a commit. */
  apply({ removed, stored }: TableChange): CachedTable {
    const ids = new Set([...removed, ...stored.map(({ id }) => id)])
    const gone = [...ids].flatMap((id) => this.find(id) ?? [])
    const added = stored.map(ownRow)
    let bytes = this.rowBytes
    for (const row of gone) bytes -= bytesOf(row)
    for (const row of added) bytes += bytesOf(row)
    const isSmall = gone.length + added.length <= mostEdits
    const rows = isSmall ? this.rows.slice() : replaced(this.rows, gone, added)
    const keys = isSmall ? this.keys.copy(rows, bytes) : new FieldKeys(rows, bytes)
    const table = new CachedTable(rows, bytes, keys)
    if (isSmall) table.edit(rows, gone, added)
    table.byId = this.passIds(added, gone)
    return table
  }

  private edit(rows: Array<CachedRow>, gone: ReadonlyArray<CachedRow>, added: ReadonlyArray<CachedRow>): void {
    for (const row of gone) {
      const index = this.indexOf(row)
      this.keys.remove(index)
      rows.splice(index, 1)
    }
    for (const row of added) {
      const index = this.indexOf(row)
      rows.splice(index, 0, row)
      this.keys.insert(index)
    }
  }

  /** Whether the row at an index matches; undefined where all do. */
  private matcher(filter: Filter | undefined, pace: Pace) {
    return filter === undefined || filter.isEmpty ? undefined : this.keys.matcher(filter, pace)
  }

  /** The indexes of the rows to look at; undefined for all in insertion order. */
  private *order(id: string | undefined, sort: Query["sort"]): Turns<ReadonlyArray<number> | undefined> {
    if (id === undefined) return sort === undefined ? undefined : yield* this.keys.order(sort)
    const row = this.find(id)
    return row === undefined ? [] : [this.indexOf(row)]
  }

  /** Hands the map of ids to the next table without a copy; this one builds it again if it is used once more. */
  private passIds(added: ReadonlyArray<CachedRow>, gone: ReadonlyArray<CachedRow>): Map<string, CachedRow> | undefined {
    const { byId } = this
    this.byId = undefined
    for (const { id } of gone) byId?.delete(id)
    for (const row of added) byId?.set(row.id, row)
    return byId
  }

  private indexOf({ seq }: CachedRow): number {
    return firstPlace(this.rows.length, (place) => this.rows[place]!.seq < seq)
  }
}

const replaced = (
  rows: ReadonlyArray<CachedRow>,
  gone: ReadonlyArray<CachedRow>,
  added: ReadonlyArray<CachedRow>
): Array<CachedRow> => {
  const without = new Set(gone)
  return [...rows.filter((row) => !without.has(row)), ...added].toSorted((a, b) => a.seq - b.seq)
}

/** Of each field a name, and a map of its types. */
const fieldsBytes = (fields: TableFields): number => {
  let bytes = mapBytes(fields.size)
  for (const name of fields.keys()) bytes += textBytes(name) + mapBytes(1)
  return bytes
}

const bytesOf = ({ data, id }: CachedRow): number =>
  objectBytes(6) + 2 * numberBytes + textBytes(id) + objectBytes(2) + textBytes(data.text)

const ownRow = ({ createdAt, data, id, lastVersion, seq, updatedAt }: CachedRow): CachedRow => ({
  id: ownText(id),
  createdAt,
  updatedAt,
  data: JsonText.trusted(ownText(data.text)),
  seq,
  lastVersion
})

/** What a commit of these rows does to each of their tables. */
export const tableChanges = (touched: ReadonlyArray<WorkRow>): ReadonlyMap<string, TableChange> => {
  const changes = new Map<string, { readonly stored: Array<CachedRow>; readonly removed: Array<string> }>()
  for (const { content, lastVersion, place } of touched) {
    const { createdAt, id, seq, table } = place
    const change = changes.get(table) ?? { stored: [], removed: [] }
    changes.set(table, change)
    if (content === undefined) change.removed.push(id)
    else change.stored.push({ id, createdAt, ...content, seq, lastVersion })
  }
  return changes
}
