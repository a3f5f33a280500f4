import { Clock, Effect, Layer, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { numberText, plural } from "../../../domain/Amounts.ts"
import { importable, readRowFile, readRowLines } from "../../../domain/files/RowFile.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { decodeUtf8 } from "../../../domain/json/Utf8.ts"
import { isTableName } from "../../../domain/Query.ts"
import { rowOf, timeText } from "../../../domain/Row.ts"
import { inTurns } from "../../../domain/Turns.ts"
import { Settings } from "../../config/Settings.ts"
import { Tables } from "../../tables/Tables.ts"
import { Writes } from "../../tables/Writes.ts"
import { seeOther } from "../PrivatePage.ts"
import { cellsOf } from "./Cells.ts"
import { makeConsole, type Person } from "./Console.ts"
import { doneQuery } from "./Done.ts"
import { accountResponse } from "./Frame.ts"
import { importPage, importPreviewPage } from "./ImportPage.ts"
import { keyOf, sentBefore } from "./Once.ts"
import { bytesText } from "./UsageBar.ts"

/** A preview shows so many rows of a table. */
const shownRows = 20

/** In bytes: a longer file takes the command line or `POST /v1/_import`, since the preview has all of it in its form. */
const longestFile = 2_097_152

/** A pasted text of so many characters is shown again beside what is wrong with it. */
const longestShown = 500_000

const tooLongAsJson = "As JSON, the file is too long for this page. Import a part of it."

const textOf = (fields: FormData, name: string): string => {
  const value = fields.get(name)
  return typeof value === "string" ? value : ""
}

/** The file that was chosen, else the text that was pasted. */
const contentOf = Effect.fnUntraced(function* (fields: FormData, most: number) {
  const file = fields.get("file")
  const tooLong = `This is longer than ${bytesText(most)}. Import a part of it at a time, or all of it with the command line.`
  if (file === null || typeof file === "string" || file.size === 0) {
    const text = textOf(fields, "text")
    return text.length > most ? Result.fail(tooLong) : Result.succeed(text)
  }
  if (file.size > most) return Result.fail(tooLong)
  const { issue, value } = decodeUtf8(new Uint8Array(yield* Effect.promise(() => file.arrayBuffer())))
  return issue === undefined
    ? Result.succeed(value)
    : Result.fail("The file is not UTF-8. Save it as UTF-8, then choose it again.")
})

type TablesOfRows = ReadonlyMap<string, ReadonlyArray<JsonText>>

/** The rows of tables, a line each, as they go from the preview to the import. */
const linesOf = (tables: TablesOfRows): string =>
  [...tables].flatMap(([table, rows]) => rows.map(({ text }) => `{"table":"${table}","row":${text}}`)).join("\r\n")

/** The pages that show what a file holds, and import it. */
export const ImportRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
    const tables = yield* Tables
    const writes = yield* Writes
    const { limits } = yield* Settings
    const console = yield* makeConsole
    const most = Math.min(longestFile, limits.requestBytes)
    /** In bytes: how long the rows may be in the form of the preview. */
    const mostLines = limits.requestBytes / 2

    /** Why so many tables or rows are not even looked at one by one. */
    const tooMany = (tables: TablesOfRows): string | undefined => {
      if (tables.size > limits.tables) return `The limit is ${limits.tables} tables, and the file has ${tables.size}.`
      for (const [name, rows] of tables) {
        if (rows.length > limits.rowsPerTable) {
          return `The limit is ${plural(limits.rowsPerTable, "row")} in a table, and ${name} gets ${numberText(rows.length)}.`
        }
      }
      return undefined
    }

    /** The rows as an import takes them, and the fields that were renamed for it. */
    const importableOf = Effect.fnUntraced(function* (tables: TablesOfRows) {
      const now = timeText(yield* Clock.currentTimeMillis)
      const made = new Map<string, ReadonlyArray<JsonText>>()
      const renamed = new Set<string>()
      for (const [name, rows] of tables) {
        const ready = yield* inTurns(importable(rows, { makeId: uuidV7Unsafe, now }))
        if (rows.length > 0) made.set(name, ready.rows)
        for (const field of ready.renamed) renamed.add(field)
      }
      return { made, renamed: [...renamed] }
    })

    yield* console.page("/tables/_import", ({ proof }, { url }) => {
      const table = new URLSearchParams(url.split("?")[1]).get("table") ?? ""
      return Effect.succeed(accountResponse(importPage({ proof, table, most })))
    })

    const preview = Effect.fnUntraced(function* ({ actor, proof }: Person, fields: FormData) {
      const table = textOf(fields, "table").trim()
      const pasted = textOf(fields, "text")
      const text = pasted.length > longestShown ? undefined : pasted
      const isAllText = fields.has("as_text")
      const again = (problem: string) =>
        accountResponse(importPage({ proof, table, most, text, isAllText, problem }), 400)
      if (!isTableName(table)) return again("Begin the name with a letter; then use letters, digits, _ or -.")
      const content = yield* contentOf(fields, most)
      if (Result.isFailure(content)) return again(content.failure)
      const read = yield* inTurns(readRowFile(content.success, { table, isAllText, longest: mostLines }))
      if (Result.isFailure(read)) return again(read.failure)
      const fault = tooMany(read.success.tables)
      if (fault !== undefined) return again(fault)
      const { made, renamed } = yield* importableOf(read.success.tables)
      if (made.size === 0) return again("The file has no rows.")
      const lines = linesOf(made)
      if (Buffer.byteLength(lines) > mostLines) return again(tooLongAsJson)
      const fits = yield* Effect.result(writes.import(actor, { isDryRun: true }, Object.fromEntries(made)))
      if (Result.isFailure(fits)) {
        const { failure } = fits
        return failure.status === 503 ? yield* failure : again(failure.detail ?? "The rows can't be imported.")
      }
      const stored = new Map((yield* tables.summaries(actor)).map(({ name, rows }) => [name, rows]))
      const shown = yield* Effect.forEach(made, ([name, rows]) =>
        Effect.map(inTurns(cellsOf(rows.slice(0, shownRows).map(rowOf))), (cells) => ({
          name,
          rows: rows.length,
          stored: stored.get(name) ?? 0,
          cells
        }))
      )
      return accountResponse(
        importPreviewPage({
          proof,
          format: read.success.format,
          tables: shown,
          renamed,
          lines
        })
      )
    })

    const store = Effect.fnUntraced(function* ({ actor, proof }: Person, fields: FormData, lines: string) {
      const again = (problem: string) => accountResponse(importPage({ proof, table: "", most, problem }), 400)
      const read = yield* inTurns(readRowLines(lines, ""))
      if (Result.isFailure(read)) return again(read.failure)
      const { tables } = read.success
      const fault = tooMany(tables)
      if (fault !== undefined) return again(fault)
      const [first, ...others] = tables.keys()
      const count = [...tables.values()].reduce((sum, rows) => sum + rows.length, 0)
      const options = { idempotencyKey: keyOf(textOf(fields, "key")) }
      const imported = yield* Effect.result(writes.import(actor, options, Object.fromEntries(tables)))
      if (Result.isFailure(imported)) {
        const { failure } = imported
        if (failure._tag === "IdempotencyKeyReused") return again(sentBefore)
        return failure.status === 503 ? yield* failure : again(`Nothing was imported. ${failure.detail ?? ""}`.trim())
      }
      const done = doneQuery("imported", count, imported.success.change)
      return seeOther((first !== undefined && others.length === 0 ? `/tables/${first}` : "/tables") + done)
    })

    yield* console.upload(
      "/tables/_import",
      (person, fields) => {
        const lines = fields.get("rows")
        return typeof lines === "string" ? store(person, fields, lines) : preview(person, fields)
      },
      { bytes: limits.requestBytes }
    )
  })
)
