import { arrayBytes, mapBytes, objectBytes, ownText, textBytes } from "./HeapBytes.ts"

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

  /** Removes a row. */
  remove(index: number): void {
    this.textBytes -= bytesOfText(this.texts.splice(index, 1)[0])
  }

  /** Adds a row. */
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

  /** Removes a row. */
  remove(index: number): void {
    for (const column of this.columns.values()) column.remove(index)
  }

  /** Adds a row. */
  insert(index: number): void {
    for (const column of this.columns.values()) column.insert(index)
  }
}
