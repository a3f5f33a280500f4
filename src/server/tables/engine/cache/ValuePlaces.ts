import { members, membersWork } from "../../../../domain/json/Members.ts"
import type { Row } from "../../../../domain/Row.ts"
import { Pace, type Turns } from "../../../../domain/Turns.ts"
import { mapBytes, ownText, textBytes } from "./HeapBytes.ts"

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
