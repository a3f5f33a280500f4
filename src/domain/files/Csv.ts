import { Result } from "effect"
import { Pace, type Turns } from "../Turns.ts"

/** One record of a CSV, with the line on which it begins. */
export interface CsvRecord {
  readonly line: number
  readonly cells: ReadonlyArray<string>
}

/** What separates cells: what the first line has most of, outside of quotes. */
const separatorOf = (text: string): string => {
  const end = text.indexOf("\n")
  const line = (end === -1 ? text : text.slice(0, end)).replaceAll(/"[^"]*"/g, "")
  const count = (separator: string) => line.split(separator).length
  return [",", ";", "\t"].reduce((most, one) => (count(one) > count(most) ? one : most))
}

/** More would keep others waiting: columns are compared with each other, and each looks at all records. */
const mostColumns = 1000
const mostRecords = 100_000

const recordFault = ({ cells, line }: CsvRecord, first: CsvRecord | undefined, records: number): string | undefined => {
  if (first === undefined && cells.length > mostColumns) {
    return `The first line names ${cells.length} columns, and a file can have ${mostColumns}.`
  }
  if (first !== undefined && cells.length > first.cells.length) {
    return `Line ${line} has ${cells.length} cells, and the first line names ${first.cells.length}.`
  }
  if (records > mostRecords) return `The file has more than ${mostRecords} rows. Import a part of it at a time.`
  return undefined
}

/**
 * Reads a CSV (RFC 4180) of at most 1,000 columns and 100,000 rows behind a first line with their names. Cells may also be
 * separated by semicolons or tabs, and lines end as on any system. Blank lines are left out. A failure says what is wrong,
 * with its line.
 */
export function* readCsv(text: string): Turns<Result.Result<ReadonlyArray<CsvRecord>, string>> {
  const separator = separatorOf(text)
  const plain = new RegExp(`[^${separator}\r\n]*`, "y")
  const records: Array<CsvRecord> = []
  const pace = new Pace()
  let [at, line, begin] = [0, 1, 1]
  let cells: Array<string> = []
  while (at < text.length) {
    const from = at
    let cell = ""
    if (text[at] === '"') {
      const opened = line
      while (true) {
        const close = text.indexOf('"', at + 1)
        if (close === -1) return Result.fail(`Line ${opened} opens a quote that is never closed.`)
        cell += text.slice(at + 1, close)
        at = close + 1
        if (text[at] !== '"') break
        cell += '"'
      }
      line += cell.split("\n").length - 1
      if (at < text.length && text[at] !== separator && text[at] !== "\r" && text[at] !== "\n") {
        return Result.fail(`Line ${line} has text behind a closing quote. Write a quote within a cell twice: "".`)
      }
    } else {
      plain.lastIndex = at
      cell = plain.exec(text)![0]
      at += cell.length
    }
    cells.push(cell)
    yield* pace.worked(at - from + 32)
    if (text[at] === separator) {
      at++
      // A separator at the very end has an empty cell behind it.
      if (at < text.length) continue
      cells.push("")
    }
    if (cells.length > 1 || cells[0] !== "") {
      const record = { line: begin, cells }
      const fault = recordFault(record, records[0], records.length)
      if (fault !== undefined) return Result.fail(fault)
      records.push(record)
    }
    cells = []
    if (text[at] === "\r") at++
    if (text[at] === "\n") at++
    begin = ++line
  }
  return Result.succeed(records)
}
