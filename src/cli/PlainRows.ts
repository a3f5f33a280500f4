import { Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { JsonText } from "../domain/json/JsonText.ts"
import { members } from "../domain/json/Members.ts"
import { parseEnvelope } from "../domain/json/ParseEnvelope.ts"
import { readCsv } from "./Csv.ts"
import type { Format, Tables } from "./Formats.ts"
import { Stopped } from "./TerminalText.ts"

const notRows = (why: string) => Result.fail(new Stopped({ message: `The file is no list of rows: ${why}` }))

/** A JSON array of objects. */
const readArray = (text: string): Result.Result<ReadonlyArray<JsonText>, Stopped> => {
  const { issue, value } = parseEnvelope(text, { kind: "array", items: { kind: "text" } })
  if (issue !== undefined) return notRows(`${issue.message}.`)
  return Array.isArray(value)
    ? Result.succeed(value)
    : notRows("--table takes a JSON array of objects, lines of them, or CSV.")
}

/** An object in each line. Empty lines are ignored. */
const readObjects = (text: string): Result.Result<ReadonlyArray<JsonText>, Stopped> => {
  const rows: Array<JsonText> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    const { issue, value } = parseEnvelope(line, { kind: "text" })
    if (issue !== undefined) return notRows(`line ${index + 1}: ${issue.message}.`)
    rows.push(value as JsonText)
  }
  return Result.succeed(rows)
}

const readers = { json: readArray, ndjson: readObjects, csv: readCsv } as const satisfies Record<Format, unknown>

/** A row as imports take it: with an id and times of its own, or new ones. */
const withSystemFields = (row: JsonText, now: string): JsonText => {
  const given = new Set(members(row).map(({ name }) => name))
  const added = Object.entries({ id: uuidV7Unsafe(), created_at: now, updated_at: now })
    .filter(([name]) => !given.has(name))
    .map(([name, value]) => `"${name}":"${value}"`)
  const own = row.text.slice(1, -1)
  return JsonText.trusted(`{${[...added, ...(own === "" ? [] : [own])].join()}}`)
}

/** Reads rows that are no export, all for one table: a JSON array of objects, an object a line, or CSV. */
export const readPlain = (text: string, format: Format, table: string): Result.Result<Tables, Stopped> =>
  Result.gen(function* () {
    const rows = yield* readers[format](text)
    const odd = rows.findIndex((row) => row.text[0] !== "{")
    if (odd !== -1) return yield* notRows(`item ${odd + 1} is no object.`)
    const now = new Date().toISOString()
    return new Map([[table, rows.map((row) => withSystemFields(row, now))]])
  })
