import { members, membersWork } from "../../../../domain/json/Members.ts"
import type { Row } from "../../../../domain/Row.ts"
import { Pace, type Turns } from "../../../../domain/Turns.ts"

/** Estimates of what values take of V8's heap on 64 bits. */

const word = 8

/** Of an object with so many fields. */
export const objectBytes = (fields: number): number => (3 + fields) * word

/** Of an array that grew to so many items, which has room for a few from its first on. */
export const arrayBytes = (items: number): number => 6 * word + Math.max(items, 17) * word

/** Of a map, whose capacity is a power of two. */
export const mapBytes = (entries: number): number => {
  const capacity = 2 ** Math.max(2, Math.ceil(Math.log2(Math.max(entries, 1))))
  return 7 * word + capacity * 3.5 * word
}

/** Of a field that holds a time: numbers of more than 31 bits are objects of their own. */
export const numberBytes = 2 * word

// V8 knows without a scan that this finds nothing in text of one byte per character.
const wide = /[^\0-\xff]/

/** Of a text that is not a slice: one byte per character, or two when any character needs it. */
export const textBytes = (text: string): number =>
  2 * word + Math.ceil((text.length * (wide.test(text) ? 2 : 1)) / word) * word

/** The first of so many places in an order whose item is not before the one that is looked for. */
export const firstPlace = (places: number, isBefore: (place: number) => boolean): number => {
  let [low, high] = [0, places]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (isBefore(middle)) low = middle + 1
    else high = middle
  }
  return low
}

/** Shorter texts are never slices, nor chains of pieces. */
const shortest = 13

/** A flat copy of a well-formed text, which keeps no request or larger text in memory. */
export const ownText = <Text extends string>(text: Text): Text =>
  text.length < shortest ? text : (Buffer.from(text).toString() as Text)

/** Begin and end of a field's value in each row's text, by row index; 0 where a row does not have the field. */
type Places = Int32Array

/** How many fields' places are kept; those that were learned first are dropped first. */
const maxFields = 8

/** A row's value of one of the fields asked for, as JSON text; undefined where the row does not have it. */
export type ValueAt = (index: number, field: number) => string | undefined

/** Where the values of fields are in the texts of a table's rows, so that sums parse each row once. */
export class ValuePlaces {
  private readonly rows: ReadonlyArray<Row>
  private readonly places = new Map<string, Places>()
  private nameBytes = 0

  constructor(rows: ReadonlyArray<Row>) {
    this.rows = rows
  }

  /** The heap bytes of what is kept. */
  get bytes(): number {
    const { nameBytes, places, rows } = this
    return mapBytes(places.size) + places.size * 8 * rows.length + nameBytes
  }

  /** Finds the fields in all rows, in turns; at most {@link maxFields} of them at once. */
  *learn(fields: ReadonlyArray<string>): Turns<ValueAt> {
    const wanted = fields.map((field) => this.places.get(field) ?? new Int32Array(2 * this.rows.length))
    const unknown = new Map(
      fields.flatMap((field, index) => (this.places.has(field) ? [] : [[field, wanted[index]!] as const]))
    )
    if (unknown.size > 0) {
      const pace = new Pace()
      for (const [index, { data }] of this.rows.entries()) {
        // In compact text one character stands before each name, and one between name and value.
        let end = 0
        for (const { name, rawName, value } of members(data)) {
          const begin = end + rawName.length + 2
          end = begin + value.length
          unknown.get(name)?.set([begin, end], 2 * index)
        }
        yield* pace.worked(membersWork * data.length)
      }
      for (const [field, places] of unknown) this.keep(field, places)
    }
    return (index, field) => {
      const places = wanted[field]!
      const end = places[2 * index + 1]!
      return end === 0 ? undefined : this.rows[index]!.data.text.slice(places[2 * index], end)
    }
  }

  private keep(field: string, places: Places): void {
    if (this.places.size >= maxFields) {
      const oldest = this.places.keys().next().value!
      this.places.delete(oldest)
      this.nameBytes -= textBytes(oldest)
    }
    this.places.set(ownText(field), places)
    this.nameBytes += textBytes(field)
  }
}

/** A text for each of a table's rows, by their indexes; undefined until it is computed. */
export class Column {
  private readonly texts: Array<string | undefined>
  private textBytes = 0

  constructor(texts: Array<string | undefined>) {
    this.texts = texts
  }

  get bytes(): number {
    return objectBytes(2) + arrayBytes(this.texts.length) + this.textBytes
  }

  get(index: number): string | undefined {
    return this.texts[index]
  }

  set(index: number, text: string): void {
    this.textBytes += bytesOfText(text) - bytesOfText(this.texts[index])
    this.texts[index] = text
  }

  /** The same for a copy of the rows. */
  copy(): Column {
    const copy = new Column(this.texts.slice())
    copy.textBytes = this.textBytes
    return copy
  }

  remove(index: number): void {
    this.textBytes -= bytesOfText(this.texts.splice(index, 1)[0])
  }

  insert(index: number): void {
    this.texts.splice(index, 0, undefined)
  }
}

const bytesOfText = (text: string | undefined): number => (text === undefined || text === "" ? 0 : textBytes(text))

/** The columns of a table's rows, by what they are of. */
export class Columns {
  private readonly columns = new Map<string, Column>()
  private readonly rows: { readonly length: number }

  constructor(rows: { readonly length: number }) {
    this.rows = rows
  }

  get bytes(): number {
    let bytes = objectBytes(2) + mapBytes(this.columns.size)
    for (const [name, column] of this.columns) bytes += textBytes(name) + column.bytes
    return bytes
  }

  has(name: string): boolean {
    return this.columns.has(name)
  }

  /** The column of this name, which is empty at first. */
  of(name: string): Column {
    const known = this.columns.get(name)
    if (known !== undefined) return known
    const column = new Column(Array.from({ length: this.rows.length }))
    this.columns.set(ownText(name), column)
    return column
  }

  /** Drops them all. Queries that have paused go on with theirs. */
  clear(): void {
    this.columns.clear()
  }

  /** The same for a copy of the rows, to which one row after another is added or removed. */
  copy(rows: { readonly length: number }): Columns {
    const copy = new Columns(rows)
    for (const [name, column] of this.columns) copy.columns.set(name, column.copy())
    return copy
  }

  remove(index: number): void {
    for (const column of this.columns.values()) column.remove(index)
  }

  insert(index: number): void {
    for (const column of this.columns.values()) column.insert(index)
  }
}
