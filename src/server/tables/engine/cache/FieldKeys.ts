import { compareKeys } from "../../../../domain/facets/CompareKeys.ts"
import { encodeText } from "../../../../domain/facets/EncodeText.ts"
import { facetKey } from "../../../../domain/facets/FacetKey.ts"
import { isCut, isLong, shortKey } from "../../../../domain/facets/ShortKey.ts"
import { matchesSystemFields, type Filter } from "../../../../domain/Filter.ts"
import { members } from "../../../../domain/json/Members.ts"
import type { Sort } from "../../../../domain/Query.ts"
import type { Row } from "../../../../domain/Row.ts"
import { arrayBytes, mapBytes, objectBytes, ownText, textBytes } from "./HeapBytes.ts"

/** The short keys of one field by the index of their row; undefined where the row was not looked at yet. */
type Column = Array<string | undefined>

/** Stands for the key of a field that a row does not have. */
const missing = ""

interface Order {
  readonly sort: Sort
  /** The indexes of all rows. */
  readonly indexes: Array<number>
  /** What it takes without the indexes. */
  readonly bytes: number
}

/** So many orders are kept; the one that was not asked for the longest goes first. */
const maxOrders = 8

type Compare = (a: number, b: number) => number

/**
 * What a table's queries had to find out about its rows: the keys of the fields that they named, and the orders that they
 * asked for. Rows are known by their indexes.
 */
export class FieldKeys {
  private readonly rows: ReadonlyArray<Row>
  private readonly columns = new Map<string, Column>()
  private readonly orders = new Map<string, Order>()
  private keyBytes = 0

  constructor(rows: ReadonlyArray<Row>) {
    this.rows = rows
  }

  get bytes(): number {
    const { columns, keyBytes, orders, rows } = this
    const list = arrayBytes(rows.length)
    const kept = (columns.size + orders.size) * list
    return objectBytes(4) + mapBytes(columns.size) + mapBytes(orders.size) + kept + keyBytes
  }

  forget(): void {
    this.columns.clear()
    this.orders.clear()
    this.keyBytes = 0
  }

  /** Whether the row at an index matches. */
  matcher(filter: Filter): (index: number) => boolean {
    const { rows } = this
    const wanted = [...filter.fields.wanted].map(([facet, full]) => ({
      facet,
      column: this.column(facet),
      key: shortKey(full),
      full: isLong(full) ? full : undefined
    }))
    const columns = new Map(wanted.map(({ column, facet }) => [facet, column]))
    return (index) => {
      if (!matchesSystemFields(filter, rows[index]!)) return false
      for (const { column, facet, full, key } of wanted) {
        if (column[index] === undefined) this.learn(index, columns)
        if (column[index] !== key || (full !== undefined && this.fullKey(index, facet) !== full)) return false
      }
      return true
    }
  }

  /** The indexes of all rows in an order. */
  order(sort: Sort): ReadonlyArray<number> {
    const name = (sort.descending ? "-" : "+") + sort.facet
    const known = this.orders.get(name)
    if (known !== undefined) {
      this.orders.delete(name)
      this.orders.set(name, known)
      return known.indexes
    }
    if (this.orders.size === maxOrders) {
      const [oldest, { bytes }] = this.orders.entries().next().value!
      this.orders.delete(oldest)
      this.keyBytes -= bytes
    }
    const indexes = [...this.rows.keys()].toSorted(this.compare(sort))
    const own = { ...sort, field: ownText(sort.field), facet: ownText(sort.facet) }
    const bytes = objectBytes(3) + objectBytes(3) + 3 * textBytes(sort.facet)
    this.orders.set((sort.descending ? "-" : "+") + own.facet, { sort: own, indexes, bytes })
    this.keyBytes += bytes
    return indexes
  }

  /** The same for a copy of the rows. */
  copy(rows: ReadonlyArray<Row>): FieldKeys {
    const copy = new FieldKeys(rows)
    for (const [facet, column] of this.columns) copy.columns.set(facet, column.slice())
    for (const [name, order] of this.orders) copy.orders.set(name, { ...order, indexes: order.indexes.slice() })
    copy.keyBytes = this.keyBytes
    return copy
  }

  /** The row at an index is to go. */
  remove(index: number): void {
    for (const column of this.columns.values()) this.keyBytes -= keyBytes(column.splice(index, 1)[0])
    for (const { indexes } of this.orders.values()) {
      let kept = 0
      for (const other of indexes) if (other !== index) indexes[kept++] = other > index ? other - 1 : other
      indexes.length = kept
    }
  }

  /** A row has come in at an index. */
  insert(index: number): void {
    for (const column of this.columns.values()) column.splice(index, 0, undefined)
    for (const { indexes, sort } of this.orders.values()) {
      if (index < indexes.length)
        for (const [place, other] of indexes.entries()) if (other >= index) indexes[place] = other + 1
      indexes.splice(placeOf(indexes, index, this.compare(sort)), 0, index)
    }
  }

  private column(facet: string): Column {
    const known = this.columns.get(facet)
    if (known !== undefined) return known
    const column: Column = Array.from({ length: this.rows.length })
    this.columns.set(ownText(facet), column)
    this.keyBytes += textBytes(facet)
    return column
  }

  /** Looks for the keys of these columns in a row. */
  private learn(index: number, columns: ReadonlyMap<string, Column>): void {
    for (const column of columns.values()) column[index] ??= missing
    for (const { name, value } of members(this.rows[index]!.data)) {
      const column = columns.get(encodeText(name))
      if (column === undefined || column[index] !== missing) continue
      column[index] = ownText(shortKey(facetKey(value)))
      this.keyBytes += keyBytes(column[index])
    }
  }

  /** A key that its column holds cut. */
  private fullKey(index: number, facet: string): string {
    return facetKey(members(this.rows[index]!.data).find(({ name }) => encodeText(name) === facet)!.value)
  }

  private compare({ descending, facet, field }: Sort): Compare {
    const { rows } = this
    const direction = descending ? -1 : 1
    switch (field) {
      case "id":
        return (a, b) => direction * (rows[a]!.id < rows[b]!.id ? -1 : 1)
      // Among rows of one moment, the newest first is the last inserted first.
      case "created_at":
        return (a, b) => direction * (rows[a]!.createdAt - rows[b]!.createdAt || a - b)
      case "updated_at":
        return (a, b) => direction * (rows[a]!.updatedAt - rows[b]!.updatedAt || a - b)
      default:
        return this.compareField(facet, descending)
    }
  }

  private compareField(facet: string, descending: boolean): Compare {
    const column = this.column(facet)
    const columns = new Map([[facet, column]])
    const keyOf = (index: number): string | undefined => {
      if (column[index] === undefined) this.learn(index, columns)
      const key = column[index]!
      return key === missing ? undefined : key
    }
    const fullKeys = new Map<number, string>()
    const fullKeyOf = (index: number): string => {
      const key = fullKeys.get(index) ?? this.fullKey(index, facet)
      fullKeys.set(index, key)
      return key
    }
    return (a, b) => {
      const key = keyOf(a)
      const order = compareKeys(key, keyOf(b), descending)
      if (order !== 0 || key === undefined || !isCut(key)) return order || a - b
      return compareKeys(fullKeyOf(a), fullKeyOf(b), descending) || a - b
    }
  }
}

const keyBytes = (key: string | undefined): number => (key === undefined || key === missing ? 0 : textBytes(key))

/** Where an index belongs in an order without it. */
const placeOf = (order: ReadonlyArray<number>, index: number, compare: Compare): number => {
  let [low, high] = [0, order.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (compare(order[middle]!, index) < 0) low = middle + 1
    else high = middle
  }
  return low
}
