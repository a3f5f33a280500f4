import { numberText, plural } from "../../../domain/Amounts.ts"
import { importable, readRowFile, readRowLines } from "../../../domain/files/RowFile.ts"
import { html, type Html } from "../../doors/Html.ts"
import { cell, type Cells, cellsOf } from "./Cells.ts"
import { accountPage, fault, proofField, onceField, bytesText, accountResponse, keyOf, sentBefore } from "./Frame.ts"
import { Clock, Effect, Layer, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { decodeUtf8 } from "../../../domain/json/Utf8.ts"
import { isTableName } from "../../../domain/Query.ts"
import { rowOf, timeText } from "../../../domain/Row.ts"
import { inTurns } from "../../../domain/Turns.ts"
import { Settings } from "../../config/Settings.ts"
import { Tables } from "../../tables/Tables.ts"
import { Writes } from "../../tables/Writes.ts"
import { addressOf, seeOther } from "../PrivatePage.ts"
import { makeConsole, type Person } from "./Console.ts"

const path = "/tables/_import"

/** What a table gets from a file: all of its rows are counted, and the first shown. */
interface ImportedTable {
  readonly name: string
  readonly rows: number
  readonly stored: number
  readonly cells: Cells
}

const first = ({ cells, name, rows, stored }: ImportedTable): Html => {
  const shown = cells.rows.length
  return html`<section><h2>${name}</h2>
<p class="muted">${plural(rows, "new row")}${stored > 0 ? html`, behind the ${numberText(stored)} that it has` : ", in a new table"}${shown < rows && html`. The first ${numberText(shown)}:`}</p>
<div class="grid-frame" tabindex="0" role="region" aria-label="First rows of ${name}"><table class="grid"><thead><tr>${cells.columns.map((column) => html`<th scope="col">${column}</th>`)}</tr></thead>
<tbody>${cells.rows.map(({ values }) => html`<tr>${cells.columns.map((column) => cell(values.get(column)))}</tr>\n`)}</tbody></table></div></section>`
}

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

    /** The form that takes a file or a pasted text, with what was typed before a problem. */
    const form = (
      proof: string,
      typed: {
        readonly table?: string
        readonly text?: string | undefined
        readonly isAllText?: boolean
        readonly problem?: string
      }
    ) => {
      const { isAllText, problem, table = "", text = "" } = typed
      const page = accountPage(
        "Import rows",
        { current: "/tables", width: "wide" },
        html`<p class="crumbs"><a href="/tables">Tables</a></p>
<h1>Import rows</h1>
<p class="muted">From JSON, NDJSON or CSV. The next page shows what the file holds; nothing is stored before you agree.</p>
${fault(problem, "import-fault")}
<form class="card" method="post" action="${path}" enctype="multipart/form-data" data-draft="${path}/">
${proofField(proof)}
<div class="form-field"><label for="import-table">Table</label><input id="import-table" name="table" value="${table}" required pattern="[A-Za-z][A-Za-z0-9_\\-]{0,63}" title="A letter, then up to 63 letters, digits, _ or -" placeholder="notes" autocomplete="off" autocapitalize="none" spellcheck="false"><p class="small muted">For rows that name no table. It is created if you don’t have it.</p></div>
<div class="form-field"><label for="import-file">File</label><input id="import-file" type="file" name="file" accept=".json,.ndjson,.jsonl,.csv,.tsv,.txt,application/json,text/csv"><p class="small muted">Up to ${bytesText(most)}.</p></div>
<div class="form-field"><label for="import-text">Or paste it</label><textarea id="import-text" name="text" rows="6" class="code-area" spellcheck="false" placeholder="name,price&#10;Tea,3.50">\n${text}</textarea></div>
<div class="form-field"><label class="choice-line"><input type="checkbox" name="as_text" value="1"${isAllText === true && " checked"}> Keep every cell of a CSV as text</label></div>
<div class="actions"><button class="primary" type="submit">Show what it holds</button><a class="button" href="/tables">Cancel</a></div>
</form>`
      )
      return accountResponse(page, problem === undefined ? 200 : 400)
    }

    yield* console.page(path, function* ({ proof }, query) {
      return form(proof, { table: query.get("table") ?? "" })
    })

    const preview = Effect.fnUntraced(function* ({ actor, proof }: Person, fields: FormData) {
      const table = textOf(fields, "table").trim()
      const pasted = textOf(fields, "text")
      const text = pasted.length > longestShown ? undefined : pasted
      const isAllText = fields.has("as_text")
      const again = (problem: string) => form(proof, { table, text, isAllText, problem })
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
      const count = shown.reduce((sum, table) => sum + table.rows, 0)
      const page = accountPage(
        "Import rows",
        { current: "/tables", width: "full", styles: ["grid.css"] },
        html`<p class="crumbs"><a href="/tables">Tables</a> / <a href="${path}">Import</a></p>
<h1>Import ${plural(count, "row")}?</h1>
<p class="muted">Read as ${read.success.format}. Nothing is stored yet.</p>
${renamed.length > 0 && html`<p class="note">The service sets id, created_at and updated_at itself. The file’s own values are stored as ${renamed.join(", ")}.</p>`}
<form method="post" action="${path}" enctype="multipart/form-data" data-draft="${path}/" data-keeps="nothing">
${proofField(proof)}${onceField()}<textarea name="rows" hidden>\n${lines}</textarea>
<div class="actions"><button class="primary" type="submit">Import ${plural(count, "row")}</button><a class="button" href="${path}">Choose another file</a></div>
</form>
${shown.map(first)}`
      )
      return accountResponse(page)
    })

    const store = Effect.fnUntraced(function* ({ actor, proof }: Person, fields: FormData, lines: string) {
      const again = (problem: string) => form(proof, { problem })
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
      const path = first !== undefined && others.length === 0 ? `/tables/${first}` : "/tables"
      return seeOther(addressOf(path, { imported: count, change: imported.success.change }))
    })

    yield* console.upload(
      "/tables/_import",
      function* (person, fields) {
        const lines = fields.get("rows")
        return yield* typeof lines === "string" ? store(person, fields, lines) : preview(person, fields)
      },
      { bytes: limits.requestBytes }
    )
  })
)
