import { Result } from "effect"
import { isTableName } from "../Query.ts"
import { isRowId, systemFields, timeOf } from "../Row.ts"
import { Pace, type Turns } from "../Turns.ts"
import { pointerTo, shorten } from "../json/JsonIssue.ts"
import { JsonText, print } from "../json/JsonText.ts"
import { decodeString } from "../json/Lexemes.ts"
import { members, membersByName, objectOf } from "../json/Members.ts"
import { parseInTurns, scan, scanObject, type EnvelopeShape } from "../json/ParseEnvelope.ts"
import { readCsv, type CsvRecord } from "./Csv.ts"

/** The rows of a file that a person brings, by table, as the JSON of objects. */
export interface RowFile {
  readonly format: "JSON" | "NDJSON" | "CSV"
  readonly tables: ReadonlyMap<string, ReadonlyArray<JsonText>>
}

type Read = Result.Result<RowFile, string>

/** How a file is read. */
export interface RowFileOptions {
  /** The table of rows that name none. */
  readonly table: string
  /** Cells of a CSV that are numbers, true or false stay text. */
  readonly isAllText?: boolean
  /** In characters: how long the rows of a CSV may become as JSON, where each repeats the names of its columns. */
  readonly longest?: number
}

const longestRows = 64_000_000

const rowsShape: EnvelopeShape = { kind: "array", items: { kind: "text", takes: "any" } }
const documentShape: EnvelopeShape = {
  kind: "object",
  members: new Map<string, EnvelopeShape>([
    ["tables", { kind: "object", members: new Map(), rest: rowsShape }],
    ["rows", rowsShape]
  ]),
  rest: { kind: "unread" }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value) && !JsonText.is(value)

const isRows = (value: unknown): value is ReadonlyArray<JsonText> => Array.isArray(value) && value.every(JsonText.is)

const checked = (format: RowFile["format"], tables: RowFile["tables"]): Read => {
  for (const [name, rows] of tables) {
    if (!isTableName(name)) {
      return Result.fail(`${shorten(name, 64)} is no name for a table: use a letter, then letters, digits, _ or -.`)
    }
    const other = rows.findIndex(({ text }) => text[0] !== "{")
    if (other !== -1) return Result.fail(`Item ${other + 1} of ${name} is no JSON object, and a row has to be one.`)
  }
  return Result.succeed({ format, tables })
}

/** More than any account has; to look at each of very many would keep others waiting. */
const mostTables = 10_000

function* readJson(text: string, table: string): Turns<Read> {
  const list = text.trimStart().startsWith("[")
  const { issue, value } = yield* parseInTurns(text, list ? rowsShape : documentShape)
  if (issue !== undefined) return Result.fail(issue.message)
  if (isRows(value)) return checked("JSON", new Map([[table, value]]))
  if (!isRecord(value)) return Result.fail("The JSON has no rows: send an array of objects.")
  if (isRecord(value["tables"])) {
    const tables = Object.entries(value["tables"])
    if (tables.length > mostTables) return Result.fail(`The file has more than ${mostTables} tables.`)
    const other = tables.find(([, rows]) => !isRows(rows))
    if (other !== undefined) return Result.fail(`${pointerTo(["tables", other[0]])} is no array of rows.`)
    return checked("JSON", new Map(tables as ReadonlyArray<[string, ReadonlyArray<JsonText>]>))
  }
  if (isRows(value["rows"])) return checked("JSON", new Map([[table, value["rows"]]]))
  const whole = scanObject(text)
  if (whole.issue !== undefined) return Result.fail(whole.issue.message)
  const { row, table: name } = namedRow(whole.value) ?? { row: whole.value, table }
  return checked("JSON", new Map([[name, [row]]]))
}

/** A line of the command line's export: `{"table":"…","row":{…}}`. */
const namedRow = (line: JsonText): { readonly table: string; readonly row: JsonText } | undefined => {
  const found = membersByName(line)
  const [table, row] = [found.get("table")?.value, found.get("row")?.value]
  return found.size === 2 && table?.[0] === '"' && row?.[0] === "{"
    ? { table: decodeString(table), row: JsonText.trusted(row) }
    : undefined
}

/** Reads NDJSON: an object a line, or the command line's `{"table":…,"row":…}`. `table` gets the rows that name none. */
export function* readRowLines(text: string, table: string): Turns<Read> {
  const tables = new Map<string, Array<JsonText>>()
  const pace = new Pace()
  let number = 0
  for (let [at, end] = [0, 0]; at < text.length; at = end + 1) {
    const next = text.indexOf("\n", at)
    end = next === -1 ? text.length : next
    number++
    const line = text.slice(at, end)
    yield* pace.worked(8 * line.length + 8)
    if (line.trim() === "") continue
    const { issue, value } = scan(line)
    if (issue !== undefined) return Result.fail(`Line ${number}: ${issue.message}`)
    if (value.text[0] !== "{") return Result.fail(`Line ${number} is no JSON object, and a row has to be one.`)
    const { row, table: name } = namedRow(value) ?? { row: value, table }
    const rows = tables.get(name) ?? []
    tables.set(name, rows)
    rows.push(row)
  }
  return checked("NDJSON", tables)
}

/** What cells of a column can be, all of them: numbers, true or false; objects or arrays; else text. */
type CellType = "scalar" | "container" | "text"

const typeOf = (cell: string): CellType => {
  const type = /^[[{]/.test(cell) ? "container" : /^(?:-?\d|true$|false$)/.test(cell) ? "scalar" : "text"
  return type === "text" || scan(cell).issue !== undefined ? "text" : type
}

/** What the cells of each column are; undefined where all are empty. */
function* typesOf(records: ReadonlyArray<CsvRecord>): Turns<ReadonlyArray<CellType | undefined>> {
  const types: Array<CellType | undefined> = []
  const pace = new Pace()
  for (const { cells } of records) {
    for (const [column, cell] of cells.entries()) {
      const known = types[column]
      if (cell === "" || known === "text") continue
      const type = typeOf(cell)
      types[column] = known === undefined || known === type ? type : "text"
      yield* pace.worked(8 * cell.length)
    }
    yield* pace.worked(8 * cells.length)
  }
  return types
}

function* readTable(text: string, { isAllText = false, longest = longestRows, table }: RowFileOptions): Turns<Read> {
  const read = yield* readCsv(text)
  if (Result.isFailure(read)) return Result.fail(read.failure)
  const [head, ...records] = read.success
  if (head === undefined || records.length === 0) {
    return Result.fail("The file has no rows: its first line has to name the columns, and a row follows on each line.")
  }
  const header = head.cells.map((name) => name.trim())
  const nameless = header.indexOf("")
  if (nameless !== -1) return Result.fail(`Column ${nameless + 1} has no name in the first line.`)
  const twice = header.find((name, column) => header.indexOf(name) !== column)
  if (twice !== undefined) return Result.fail(`The first line names the column ${shorten(twice, 60)} twice.`)
  const names = header.map(print)
  const types = isAllText ? [] : yield* typesOf(records)
  const isText = (column: number) => (types[column] ?? "text") === "text"
  const pace = new Pace()
  const rows: Array<JsonText> = []
  let length = 0
  for (const { cells } of records) {
    const row = objectOf(
      names.flatMap((rawName, column) => {
        const cell = cells[column] ?? ""
        // An empty cell is a field that the row doesn't have.
        return cell === "" ? [] : { rawName, value: isText(column) ? print(cell) : scan(cell).value!.text }
      })
    )
    length += row.text.length
    if (length > longest) {
      return Result.fail(
        `As JSON, the rows have more than ${longest} characters, because each has the names of its columns. Shorten the names, or import a part of the file at a time.`
      )
    }
    rows.push(row)
    yield* pace.worked(8 * row.text.length + 64 * header.length)
  }
  return checked("CSV", new Map([[table, rows]]))
}

/**
 * Reads the rows of a file: JSON (an array of objects, one object, a response with `rows`, an export with `tables`), NDJSON, or
 * CSV with a line of names. A failure says in words what is wrong, and where.
 */
export function* readRowFile(text: string, options: RowFileOptions): Turns<Read> {
  const content = text.startsWith("\ufeff") ? text.slice(1) : text
  const start = content.trimStart()[0]
  if (start === undefined) return Result.fail("The file is empty.")
  if (start === "[") return yield* readJson(content, options.table)
  if (start !== "{") return yield* readTable(content, options)
  const trimmed = content.trim()
  const [first = ""] = trimmed.split("\n", 1)
  return first.length === trimmed.length || scan(first).issue !== undefined
    ? yield* readJson(content, options.table)
    : yield* readRowLines(content, options.table)
}

/** The names under which fields are stored that only the service can set: such as no row of the file has itself. */
function* storedNames(rows: ReadonlyArray<JsonText>): Turns<ReadonlyMap<string, string>> {
  const taken = new Set<string>()
  const pace = new Pace()
  for (const row of rows) {
    for (const { name } of members(row)) if (name.startsWith("imported_")) taken.add(name)
    yield* pace.worked(8 * row.text.length)
  }
  const free = (name: string): string => {
    let [stored, number] = [`imported_${name}`, 1]
    while (taken.has(stored)) stored = `imported_${name}_${++number}`
    return stored
  }
  return new Map([...systemFields].map((name) => [name, free(name)]))
}

/** Rows of a file with an id and two times, as an import takes them; `renamed` has the new names of fields of such names. */
export function* importable(
  rows: ReadonlyArray<JsonText>,
  { makeId, now }: { readonly makeId: () => string; readonly now: string }
): Turns<{ readonly rows: ReadonlyArray<JsonText>; readonly renamed: ReadonlyArray<string> }> {
  const names = yield* storedNames(rows)
  const renamed = new Set<string>()
  const made: Array<JsonText> = []
  const pace = new Pace()
  for (const row of rows) {
    const found = membersByName(row)
    const text = (name: string) => {
      const value = found.get(name)?.value
      return value?.[0] === '"' ? decodeString(value) : ""
    }
    const isExported =
      isRowId(text("id")) && [text("created_at"), text("updated_at")].every((time) => timeOf(time) !== undefined)
    const system = [...systemFields].map((name) => {
      const made = name === "id" ? makeId() : now
      return { rawName: print(name), value: print(isExported ? text(name) : made) }
    })
    const own = [...found.values()].flatMap((member) => {
      const stored = names.get(member.name)
      if (stored === undefined) return member
      if (isExported) return []
      renamed.add(stored)
      return { rawName: print(stored), value: member.value }
    })
    made.push(objectOf([...system, ...own]))
    yield* pace.worked(8 * row.text.length)
  }
  return { rows: made, renamed: [...renamed] }
}
