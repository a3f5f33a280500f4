import { Result } from "effect"
import { JsonText, print } from "../domain/json/JsonText.ts"
import { parseEnvelope } from "../domain/json/ParseEnvelope.ts"
import { Stopped } from "./TerminalText.ts"

/** A line of a CSV: its cells, and the number of the file's line that it begins at. */
interface Line {
  readonly cells: ReadonlyArray<string>
  readonly number: number
}

const stopped = (line: number, why: string) =>
  Result.fail(new Stopped({ message: `Line ${line} cannot be imported: ${why}` }))

/** Spreadsheets of some countries put semicolons or tabs between cells: whichever the first line has most of. */
const delimiterOf = (text: string): string => {
  const first = text.split(/\r\n?|\n/, 1)[0]!
  const uses = (delimiter: string) => first.split(delimiter).length
  return [",", ";", "\t"].toSorted((one, other) => uses(other) - uses(one))[0]!
}

/** The lines of a CSV (RFC 4180), whatever ends them. Empty ones are left out. */
const linesOf = (text: string): Result.Result<ReadonlyArray<Line>, Stopped> => {
  const delimiter = delimiterOf(text)
  const cell = new RegExp(`"((?:[^"]|"")*)"|([^${delimiter}"\\r\\n][^${delimiter}\\r\\n]*)?`, "y")
  const end = /\r\n?|\n/y
  const lines: Array<Line> = []
  let cells: Array<string> = []
  let [at, number, start] = [0, 1, 1]
  const finish = () => {
    if (cells.length > 1 || cells[0] !== "") lines.push({ cells, number: start })
    cells = []
  }
  while (at <= text.length) {
    cell.lastIndex = at
    const [whole, quoted, bare] = cell.exec(text)!
    cells.push(quoted === undefined ? (bare ?? "") : quoted.replaceAll('""', '"'))
    number += whole.split(/\r\n?|\n/).length - 1
    at += whole.length
    if (at === text.length) break
    if (text[at] === delimiter) {
      at++
      continue
    }
    end.lastIndex = at
    const ending = end.exec(text)?.[0]
    if (ending === undefined) return stopped(number, "a quote is not closed, or is in the middle of a cell.")
    finish()
    at += ending.length
    start = ++number
  }
  finish()
  return Result.succeed(lines)
}

const isJson = /^(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[{][^]*[\]}])$/

/** A cell as JSON: numbers, true, false, null, arrays and objects are themselves, everything else is text. */
const valueOf = (cell: string): string => {
  if (!isJson.test(cell)) return print(cell)
  const { value } = parseEnvelope(cell, { kind: "text", takes: "any" })
  return JsonText.is(value) ? value.text : print(cell)
}

/**
 * The rows of a CSV whose first line names the fields. An empty cell is a field that the row does not have; `007`, a date or
 * a phone number stays text.
 */
export const readCsv = (text: string): Result.Result<ReadonlyArray<JsonText>, Stopped> =>
  Result.gen(function* () {
    const [head, ...lines] = yield* linesOf(text)
    if (head === undefined) return []
    const names = head.cells.map((name) => name.trim())
    const odd = names.find((name, index) => name === "" || names.indexOf(name) !== index)
    if (odd !== undefined) {
      return yield* stopped(head.number, odd === "" ? "a column has no name." : `two columns are named ${odd}.`)
    }
    const rows: Array<JsonText> = []
    for (const { cells, number } of lines) {
      if (cells.length > names.length) {
        return yield* stopped(number, `it has ${cells.length} cells, and the first line names ${names.length}.`)
      }
      const members = cells.flatMap((cell, index) => (cell === "" ? [] : [`${print(names[index])}:${valueOf(cell)}`]))
      rows.push(JsonText.trusted(`{${members.join()}}`))
    }
    return rows
  })
