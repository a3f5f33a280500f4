import { Data, Effect, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { shapes } from "../client/ContractOperations.ts"
import { plural } from "../domain/Amounts.ts"
import { importable, readRowFile } from "../domain/files/RowFile.ts"
import type { Turns } from "../domain/Turns.ts"
import { JsonText } from "../domain/json/JsonText.ts"
import { parseEnvelope, type EnvelopeShape } from "../domain/json/ParseEnvelope.ts"

/** A command failed; the message says why, and what to do about it. */
export class Stopped extends Data.TaggedError("Stopped")<{ readonly message: string }> {}

// Control characters except tab and line feed, and those that change the direction of text.
const unsafe = /(?![\t\n])[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu

/**
 * A text from elsewhere, safe to show on a terminal: control characters, which could move the cursor, hide lines or set the
 * window's title, become JSON escapes. In JSON strings these mean the same.
 */
export const visible = (text: string): string =>
  text.replace(unsafe, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** A pipe gets the exact bytes; a terminal gets the document without control characters and with a line feed at its end. */
export const writeOutput = (bytes: Uint8Array) =>
  Effect.callback<void, Stopped>((resume) => {
    const shown = process.stdout.isTTY ? `${visible(Buffer.from(bytes).toString().trimEnd())}\n` : bytes
    process.stdout.write(shown, (error) =>
      resume(error ? Effect.fail(new Stopped({ message: `The output was not read: ${error.message}` })) : Effect.void)
    )
  })

/** Wraps a text between words into lines of at most `columns`. All lines but the first are indented. */
export const hanging = (text: string, columns: number, indent: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`
    if (longer.length <= columns || line.trim() === "") {
      line = longer
      continue
    }
    lines.push(line)
    line = " ".repeat(indent) + word
  }
  return [...lines, line]
}

const wrapLine = (line: string, columns: number): ReadonlyArray<string> => {
  if (line.length <= columns) return [line]
  const [, head = "", rest = ""] = /^( +\S.*?\s{2,})?(.*)$/.exec(line) ?? []
  const indent = /^ */.exec(line)![0].length
  if (head === "") return hanging(line.trimStart(), columns - indent, 0).map((part) => " ".repeat(indent) + part)
  if (head.length > columns / 2) {
    const below = " ".repeat(indent + 4)
    return [head.trimEnd(), ...hanging(rest, columns - below.length, 0).map((part) => below + part)]
  }
  const [first = "", ...others] = hanging(rest, columns - head.length, 0)
  return [head + first, ...others.map((part) => " ".repeat(head.length) + part)]
}

/** Wraps a text of help. */
export const wrapHelp = (text: string, columns: number): string =>
  text
    .split("\n")
    .flatMap((line) => wrapLine(line, columns))
    .join("\n")

/** A line on a terminal that is redrawn. Without a terminal, nothing is drawn. */
interface Progress {
  readonly update: (done: number, total?: number) => void
  readonly say: (text: string) => void
}

const interval = 100

const inMegabytes = (bytes: number) => (bytes / 1_048_576).toFixed(1)

/** `Sending [#####-----]  52 %, 14.2 of 28.7 MB`, or as much of it as fits. */
const progressLine = (label: string, columns: number, done: number, total?: number): string => {
  if (total === undefined || total === 0) return `${label} ${inMegabytes(done)} MB`.slice(0, columns - 1)
  const share = Math.min(1, done / total)
  const percent = `${String(Math.floor(share * 100)).padStart(3)} %`
  const sizes = columns < 60 ? "" : `, ${inMegabytes(done)} of ${inMegabytes(total)} MB`
  const width = Math.min(40, columns - label.length - percent.length - sizes.length - 5)
  if (width < 5) return `${label} ${percent}`.slice(0, columns - 1)
  const filled = Math.round(share * width)
  return `${label} [${"#".repeat(filled)}${"-".repeat(width - filled)}] ${percent}${sizes}`
}

/** Draws progress to standard error while the effect runs, and clears it at the end. */
export const withProgress = <A, E, R>(
  label: string,
  run: (progress: Progress) => Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const { stderr } = process
    if (!stderr.isTTY) return run({ update: () => undefined, say: () => undefined })
    let drawn = -interval
    const draw = (line: string) => void stderr.write(`\r\u001b[2K${line}`)
    const columns = () => stderr.columns || 80
    const progress: Progress = {
      update: (done, total) => {
        if (performance.now() - drawn < interval && done !== total) return
        drawn = performance.now()
        draw(progressLine(label, columns(), done, total))
      },
      say: (text) => draw(text.slice(0, columns() - 1))
    }
    return Effect.ensuring(
      run(progress),
      Effect.sync(() => draw(""))
    )
  })

/** Nobody waits for a turn at a terminal. */
const ended = <A>(work: Turns<A>): A => {
  let step = work.next()
  while (step.done !== true) step = work.next()
  return step.value
}

/** Reads rows that are no export, all for one table: a JSON array of objects, an object a line, or CSV. `now` is their time. */
export const readPlain = (text: string, table: string, now: string): Result.Result<Tables, Stopped> => {
  const read = ended(readRowFile(text, { table }))
  if (Result.isFailure(read)) return Result.fail(new Stopped({ message: read.failure }))
  const tables = [...read.success.tables].map(([name, rows]) => {
    const made = ended(importable(rows, { makeId: uuidV7Unsafe, now }))
    return [name, made.rows] as const
  })
  return Result.succeed(new Map(tables))
}

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

const lineShape: EnvelopeShape = { kind: "object", members: new Map([["row", { kind: "text" }]]) }

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const isTable = (entry: readonly [string, unknown]): entry is [string, ReadonlyArray<JsonText>] =>
  Array.isArray(entry[1]) && entry[1].every(JsonText.is)

/** Reads an export; undefined if the text is not one. */
export const readDocument = (text: string): Tables | undefined => {
  const parsed = parseEnvelope(text, shapes.withTables)
  if (!isRecord(parsed.value) || !isRecord(parsed.value["tables"])) return undefined
  const tables = Object.entries(parsed.value["tables"])
  return tables.every(isTable) ? new Map(tables) : undefined
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

/** `1 row` or `1234 rows`. */
export const rowCount = (count: number): string => (count === 1 ? "1 row" : `${count} rows`)

/** `3 tables, 1,234 rows`. */
export const amount = (tables: number, rows: number): string => `${plural(tables, "table")}, ${plural(rows, "row")}`

/** A number of bytes for people. */
export const sizeText = (bytes: number): string =>
  bytes < 10_240
    ? plural(bytes, "byte")
    : bytes < 1_048_576
      ? `${(bytes / 1024).toFixed(1)} KB`
      : `${inMegabytes(bytes)} MB`
