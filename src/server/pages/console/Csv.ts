import { decodeString } from "../../../domain/json/Lexemes.ts"
import { members } from "../../../domain/json/Members.ts"
import { systemFields, timeText, type Row } from "../../../domain/Row.ts"
import { Pace, type Turns } from "../../../domain/Turns.ts"

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)

const textOf = (value: string | undefined): string => {
  if (value === undefined) return ""
  return quoted(value[0] === '"' ? decodeString(value).toWellFormed() : value)
}

/** A CSV has a cell for each field of any row in every row, so that few odd rows could make it endless. */
const mostCells = 2_000_000

/**
 * Rows as CSV (RFC 4180) with a line of names: own fields in the order in which they first appear, then those of the service.
 * Texts are as they are, everything else is JSON, and a field that a row has not is empty. Undefined where the rows have too
 * many different fields for a table.
 */
export function* csvOf(rows: ReadonlyArray<Row>): Turns<string | undefined> {
  const pace = new Pace()
  const columns = new Set<string>()
  const found: Array<ReadonlyMap<string, string>> = []
  for (const row of rows) {
    const values = new Map(members(row.data).map(({ name, value }) => [name, value]))
    for (const name of values.keys()) columns.add(name)
    found.push(values)
    yield* pace.worked(8 * row.data.text.length)
  }
  if (columns.size * rows.length > mostCells) return undefined
  const names = [...columns]
  let csv = `${[...names, ...systemFields].map((name) => quoted(name.toWellFormed())).join()}\r\n`
  for (const [index, row] of rows.entries()) {
    const own = names.map((name) => textOf(found[index]?.get(name)))
    csv += `${[...own, row.id, timeText(row.createdAt), timeText(row.updatedAt)].join()}\r\n`
    yield* pace.worked(8 * row.data.text.length + 8 * names.length)
  }
  return csv
}
