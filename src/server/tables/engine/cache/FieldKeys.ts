import { compareKeys, isCut } from "../../../../domain/keys/SortKey.ts"
import { matchesSystemFields, type Filter, type Sort } from "../../../../domain/Query.ts"
import { isKeyCondition } from "../../../../domain/query/Conditions.ts"
import { Look } from "../../../../domain/query/Look.ts"
import { systemFields, type Row } from "../../../../domain/Row.ts"
import { Pace, type Turns } from "../../../../domain/Turns.ts"
import { Columns, type Column, arrayBytes, firstPlace, mapBytes, objectBytes, ownText, textBytes } from "./Column.ts"
import { learnKey, matcherOf, missing } from "./Matcher.ts"

interface Order {
  readonly sort: Sort
  /** The indexes of all rows. */
  readonly indexes: Array<number>
  /** What it takes without the indexes. */
  readonly bytes: number
}

/** How many orders are kept; the least recently used is dropped first. */
const maxOrders = 8

/** How much may be kept of keys and orders, and of texts; or half of what the rows take, if that is more. */
const leastBytes = 1_048_576

type Compare = (a: number, b: number) => number

const nameOf = ({ descending, encoded }: Sort): string => (descending ? "-" : "+") + encoded

/**
 * What queries have computed for a table's rows: the sort keys of the fields that they named, the texts that they looked
 * into, and the orders that they requested. Rows are named by their indexes.
 */
export class FieldKeys {
  private readonly rows: ReadonlyArray<Row>
  private readonly most: number
  private keys: Columns
  private texts: Columns
  private readonly orders = new Map<string, Order>()

  /** `rowBytes` is what the rows take. */
  constructor(rows: ReadonlyArray<Row>, rowBytes: number) {
    this.rows = rows
    this.most = Math.max(leastBytes, rowBytes / 2)
    this.keys = new Columns(rows)
    this.texts = new Columns(rows)
  }

  get bytes(): number {
    return objectBytes(5) + this.keyBytes + this.texts.bytes
  }

  private get keyBytes(): number {
    let bytes = this.keys.bytes + mapBytes(this.orders.size)
    for (const order of this.orders.values()) bytes += arrayBytes(this.rows.length) + order.bytes
    return bytes
  }

  /** Forgets what has grown too large. */
  settle(): void {
    if (this.keyBytes > this.most) {
      this.keys.clear()
      this.orders.clear()
    }
    if (this.texts.bytes > this.most) this.texts.clear()
  }

  /** Whether there are keys for all that a filter compares. */
  knows({ conditions, fields, words }: Filter): boolean {
    const isKnown = (name: string) => systemFields.has(name) || this.keys.has(name)
    return (
      words.length === 0 &&
      [...fields.wanted.keys()].every(isKnown) &&
      conditions.every((condition) => "instant" in condition || (isKeyCondition(condition) && isKnown(condition.name)))
    )
  }

  /** Whether the row at an index matches. */
  matcher(filter: Filter, pace: Pace): (index: number) => boolean {
    const { keys, most, rows, texts } = this
    // A character of a text takes one or two bytes.
    const meets = matcherOf(filter, rows, { keys, texts, room: (most - texts.bytes) / 2 }, pace)
    return (index) => matchesSystemFields(filter, rows[index]!) && meets(index)
  }

  /** The indexes of all rows in an order. */
  *order(sort: Sort): Turns<ReadonlyArray<number>> {
    const name = nameOf(sort)
    const known = this.orders.get(name)
    if (known !== undefined) {
      this.orders.delete(name)
      this.orders.set(name, known)
      return known.indexes
    }
    const column = yield* this.learnAll(sort)
    const indexes = [...this.rows.keys()].toSorted(this.compare(sort, column))
    if (this.orders.size === maxOrders) this.orders.delete(this.orders.keys().next().value!)
    const own = { ...sort, field: ownText(sort.field), encoded: ownText(sort.encoded) }
    const bytes = objectBytes(3) + objectBytes(3) + 3 * textBytes(sort.encoded)
    this.orders.set(nameOf(own), { sort: own, indexes, bytes })
    return indexes
  }

  /** The same for a copy of the rows, to which one row after another is added or removed. They will take so many bytes. */
  copy(rows: ReadonlyArray<Row>, rowBytes: number): FieldKeys {
    const copy = new FieldKeys(rows, rowBytes)
    copy.keys = this.keys.copy(rows)
    copy.texts = this.texts.copy(rows)
    for (const [name, order] of this.orders) copy.orders.set(name, { ...order, indexes: order.indexes.slice() })
    return copy
  }

  /** Removes the row at an index. */
  remove(index: number): void {
    this.keys.remove(index)
    this.texts.remove(index)
    for (const { indexes } of this.orders.values()) {
      let kept = 0
      for (const other of indexes) if (other !== index) indexes[kept++] = other > index ? other - 1 : other
      indexes.length = kept
    }
  }

  /** Adds a row at an index. */
  insert(index: number): void {
    this.keys.insert(index)
    this.texts.insert(index)
    for (const { indexes, sort } of this.orders.values()) {
      if (index < indexes.length)
        for (const [place, other] of indexes.entries()) if (other >= index) indexes[place] = other + 1
      const compare = this.compare(sort)
      indexes.splice(
        firstPlace(indexes.length, (place) => compare(indexes[place]!, index) < 0),
        0,
        index
      )
    }
  }

  /** The column of a sorted field, with all keys. */
  private *learnAll({ encoded, field }: Sort): Turns<Column | undefined> {
    if (systemFields.has(field)) return undefined
    const column = this.keys.of(encoded)
    const pace = new Pace()
    for (const [index, row] of this.rows.entries()) {
      if (column.get(index) === undefined) learnKey(column, index, encoded, new Look(row, pace))
      if (pace.isDue) yield* pace.pause()
    }
    return column
  }

  private compare({ descending, encoded, field }: Sort, column?: Column): Compare {
    const { rows } = this
    const direction = descending ? -1 : 1
    switch (field) {
      case "id":
        return (a, b) => direction * (rows[a]!.id < rows[b]!.id ? -1 : 1)
      // Among rows of one moment, newest first means last inserted first.
      case "created_at":
        return (a, b) => direction * (rows[a]!.createdAt - rows[b]!.createdAt || a - b)
      case "updated_at":
        return (a, b) => direction * (rows[a]!.updatedAt - rows[b]!.updatedAt || a - b)
      default:
        return this.compareField(encoded, descending, column ?? this.keys.of(encoded))
    }
  }

  private compareField(name: string, descending: boolean, column: Column): Compare {
    const { rows } = this
    const pace = new Pace()
    const keyOf = (index: number): string | undefined => {
      const key = column.get(index) ?? learnKey(column, index, name, new Look(rows[index]!, pace))
      return key === missing ? undefined : key
    }
    const fullKeys = new Map<number, string | undefined>()
    const fullKeyOf = (index: number): string | undefined => {
      const key = fullKeys.get(index) ?? new Look(rows[index]!, pace).key(name)
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
