import { Result } from "effect"
import { JsonText } from "../domain/json/JsonText.ts"
import { parseEnvelope, type EnvelopeShape } from "../domain/json/ParseEnvelope.ts"
import { Stopped } from "./TerminalText.ts"

/** `json` is the response of `_export`, byte for byte; `ndjson` has a line `{"table":…,"row":…}` for each row. */
export const exportFormats = ["json", "ndjson"] as const

/** What an import takes: an export, or rows of one table, also as CSV. */
export const formats = [...exportFormats, "csv"] as const
export type Format = (typeof formats)[number]

/** The format of a file, by its name. */
export const formatOf = (file: string): Format =>
  /\.(?:ndjson|jsonl)$/i.test(file) ? "ndjson" : /\.[ct]sv$/i.test(file) ? "csv" : "json"

/** The rows of each table in their order, as exact text. */
export type Tables = ReadonlyMap<string, ReadonlyArray<JsonText>>

const documentShape: EnvelopeShape = {
  kind: "object",
  members: new Map([
    ["tables", { kind: "object", members: new Map(), rest: { kind: "array", items: { kind: "text" } } }]
  ])
}

const lineShape: EnvelopeShape = { kind: "object", members: new Map([["row", { kind: "text" }]]) }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isRows = (value: unknown): value is ReadonlyArray<JsonText> => Array.isArray(value) && value.every(JsonText.is)

/** Reads an export; undefined if the text is not one. */
export const readDocument = (text: string): Tables | undefined => {
  const parsed = parseEnvelope(text, documentShape)
  if (!isRecord(parsed.value) || !isRecord(parsed.value["tables"])) return undefined
  const tables = Object.entries(parsed.value["tables"])
  const found = tables.flatMap(([name, rows]) => (isRows(rows) ? [[name, rows] as const] : []))
  return found.length === tables.length ? new Map(found) : undefined
}

const badLine = (number: number, why: string) => new Stopped({ message: `Line ${number} cannot be imported: ${why}` })

/** Reads rows, one per line, of any tables in any order. Empty lines are ignored. */
export const readLines = (text: string): Result.Result<Tables, Stopped> => {
  const tables = new Map<string, Array<JsonText>>()
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const parsed = parseEnvelope(line, lineShape)
    if (parsed.issue !== undefined) return Result.fail(badLine(index + 1, parsed.issue.message))
    const { row, table, ...others } = isRecord(parsed.value) ? parsed.value : {}
    if (typeof table !== "string" || !JsonText.is(row) || Object.keys(others).length > 0) {
      return Result.fail(badLine(index + 1, 'expected {"table":"…","row":{…}}'))
    }
    const rows = tables.get(table)
    if (rows === undefined) tables.set(table, [row])
    else rows.push(row)
  }
  return Result.succeed(tables)
}

/** The body of `_import`. */
export const printDocument = (tables: Tables): string =>
  `{"tables":{${[...tables]
    .map(([name, rows]) => `${JSON.stringify(name)}:[${rows.map(({ text }) => text).join()}]`)
    .join()}}}`

/** One line for each row. */
export const printLines = (tables: Tables): string =>
  [...tables]
    .flatMap(([name, rows]) => rows.map(({ text }) => `{"table":${JSON.stringify(name)},"row":${text}}\n`))
    .join("")

const number = (value: number) => value.toLocaleString("en-US")
const plural = (count: number, noun: string) => `${number(count)} ${noun}${count === 1 ? "" : "s"}`

/** `3 tables, 1,234 rows`. */
export const amount = (tables: number, rows: number): string => `${plural(tables, "table")}, ${plural(rows, "row")}`

/** A number of bytes for people. */
export const sizeText = (bytes: number): string =>
  bytes < 10_240
    ? plural(bytes, "byte")
    : bytes < 1_048_576
      ? `${(bytes / 1024).toFixed(1)} KB`
      : `${(bytes / 1_048_576).toFixed(1)} MB`
