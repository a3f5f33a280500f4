import type { Filter } from "../../../../domain/Filter.ts"
import { JsonText } from "../../../../domain/json/JsonText.ts"
import type { Query } from "../../../../domain/Query.ts"
import type { Row } from "../../../../domain/Row.ts"
import { Pace, type Turns } from "../../Turns.ts"
import { FieldKeys } from "./FieldKeys.ts"
import { arrayBytes, mapBytes, numberBytes, objectBytes, ownText, textBytes } from "./HeapBytes.ts"

/** A live row, with all that a write has to know of it. */
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

/** What a row takes beside its text. */
export const rowOverhead = 256

/** So much may be kept beside the rows of any table, and of a large one half of what its rows take. */
const leastKeyBytes = 1_048_576

/** Where more rows come and go at once, it is cheaper to learn of the whole table anew. */
const mostEdits = 32

/**
 * The live rows of one table at one moment. It never changes; what its queries had to find out is kept beside the rows
 * until it is too much, and goes along to the table that a commit makes of it.
 */
export class CachedTable {
  /** In insertion order. */
  readonly rows: ReadonlyArray<CachedRow>
  /** What the rows take of the heap. */
  readonly rowBytes: number
  private readonly keys: FieldKeys
  private byId: Map<string, CachedRow> | undefined

  private constructor(rows: ReadonlyArray<CachedRow>, rowBytes: number, keys: FieldKeys) {
    this.rows = rows
    this.rowBytes = rowBytes
    this.keys = keys
  }

  /** A table of rows that come in insertion order, made in turns. Their texts must be no windows on larger ones. */
  static *from(found: Iterable<CachedRow>): Turns<CachedTable> {
    const rows: Array<CachedRow> = []
    const pace = new Pace()
    let bytes = 0
    for (const row of found) {
      rows.push(row)
      bytes += bytesOf(row)
      yield* pace.worked(rowOverhead + row.data.text.length)
    }
    return new CachedTable(rows, bytes, new FieldKeys(rows))
  }

  /** What the table takes of the heap, with all that is kept beside its rows. */
  get bytes(): number {
    const { byId, keys, rowBytes, rows } = this
    return objectBytes(4) + rowBytes + arrayBytes(rows.length) + (byId ? mapBytes(byId.size) : 0) + keys.bytes
  }

  find(id: string): CachedRow | undefined {
    this.byId ??= new Map(this.rows.map((row) => [row.id, row]))
    return this.byId.get(id)
  }

  /** At most `limit` of the rows that match, behind the first `offset` of them, and whether there are more. */
  query({ filter, limit, offset = 0, sort }: Query & { readonly offset?: number }): {
    readonly rows: ReadonlyArray<CachedRow>
    readonly hasMore: boolean
  } {
    const rows: Array<CachedRow> = []
    let matched = 0
    for (const row of this.matching(filter, sort)) {
      if (rows.length === limit) {
        this.forgetKeys()
        return { rows, hasMore: true }
      }
      if (++matched > offset) rows.push(row)
    }
    this.forgetKeys()
    return { rows, hasMore: false }
  }

  count(filter: Filter | undefined): number {
    if (filter === undefined || filter.isEmpty) return this.rows.length
    return this.query({ filter, sort: undefined, limit: Number.POSITIVE_INFINITY }).rows.length
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
    const keys = isSmall ? this.keys.copy(rows) : new FieldKeys(rows)
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

  private *matching(filter: Filter | undefined, sort: Query["sort"]): Iterable<CachedRow> {
    if (filter?.isImpossible === true) return
    const matches = filter === undefined || filter.isEmpty ? undefined : this.keys.matcher(filter)
    if (filter?.id !== undefined) {
      const row = this.find(filter.id)
      if (row !== undefined && matches!(this.indexOf(row))) yield row
      return
    }
    const order = sort === undefined ? undefined : this.keys.order(sort)
    for (let place = 0; place < this.rows.length; place++) {
      const index = order === undefined ? place : order[place]!
      if (matches === undefined || matches(index)) yield this.rows[index]!
    }
  }

  /** The next table has the ids without a copy: this one makes them anew if it is asked once more. */
  private passIds(added: ReadonlyArray<CachedRow>, gone: ReadonlyArray<CachedRow>): Map<string, CachedRow> | undefined {
    const { byId } = this
    this.byId = undefined
    for (const { id } of gone) byId?.delete(id)
    for (const row of added) byId?.set(row.id, row)
    return byId
  }

  private indexOf({ seq }: CachedRow): number {
    let [low, high] = [0, this.rows.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.rows[middle]!.seq < seq) low = middle + 1
      else high = middle
    }
    return low
  }

  private forgetKeys(): void {
    if (this.keys.bytes > Math.max(leastKeyBytes, this.rowBytes / 2)) this.keys.forget()
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
