import { Clock, Console, Effect, Option, Result } from "effect"
import { Argument, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { buffer } from "node:stream/consumers"
import type { ImportAnswer } from "../client/AccountTypes.ts"
import { dryRunQuery } from "../client/Calls.ts"
import { timeText } from "../domain/Row.ts"
import { JsonText } from "../domain/json/JsonText.ts"
import { hasByteOrderMark, startFault } from "../domain/json/Utf8.ts"
import {
  amount,
  exportFormats,
  formatOf,
  formats,
  printDocument,
  printLines,
  readDocument,
  readLines,
  sizeText,
  type Format,
  readPlain,
  Stopped,
  visible,
  withProgress,
  writeOutput
} from "./Formats.ts"
import { accountCommand, send, switchFlag, textFlag, usageOf } from "./RemoteAccount.ts"

/** In bytes: a row's system fields and separators in an export. */
const rowOverhead = 135

/** Replaces a file atomically: under its name is always the complete old or the complete new file. */
const replaceFile = (file: string, bytes: Uint8Array) => {
  // Never an existing file, which might belong to another user or be readable by others.
  const draft = `${file}.${randomUUID()}.part`
  const descriptor = openSync(draft, "wx", 0o600)
  try {
    writeFileSync(descriptor, bytes)
    fsyncSync(descriptor)
    renameSync(draft, file)
  } catch (error) {
    rmSync(draft, { force: true })
    throw error
  } finally {
    closeSync(descriptor)
  }
}

const writeFile = (file: string, bytes: Uint8Array) =>
  Effect.try({
    try: () => {
      // Pipes and devices are written to, not replaced; of a link, the target is replaced.
      const found = statSync(file, { throwIfNoEntry: false })
      if (found === undefined) replaceFile(file, bytes)
      else if (found.isFile()) replaceFile(realpathSync(file), bytes)
      else writeFileSync(file, bytes)
    },
    catch: (error) => new Stopped({ message: `${file} cannot be written: ${(error as Error).message}` })
  })

export const exportCommand = accountCommand("export", {
  description:
    "Save all rows of an account over REST. Standard output gets only the export. Versions, keys and links are not included.",
  examples: [
    ["agent-memory export -o backup.json", "Save the account of AGENT_MEMORY_API_KEY"],
    ["agent-memory export --format ndjson | gzip > backup.ndjson.gz", "Pipe it"]
  ],
  flags: {
    force: switchFlag("force", "Replace the file of --output if it exists"),
    output: Flag.String("output").pipe(
      Flag.withAlias("o"),
      Flag.withMetavar("file"),
      Flag.withDescription("The file to write; without it, or with -, standard output"),
      Flag.withDefault("-")
    ),
    format: Flag.Literals("format", exportFormats).pipe(
      Flag.withDescription(
        "json: the bytes of GET /v1/_export; ndjson: one row per line. By default the format of the file's name, else json"
      ),
      Flag.optional
    )
  },
  run: Effect.fnUntraced(function* (target, { force, format, output }) {
    if (!force && output !== "-" && statSync(output, { throwIfNoEntry: false })?.isFile() === true) {
      return yield* new Stopped({ message: `${output} already exists. Pass --force to replace it.` })
    }
    const { rows, storage_bytes } = yield* usageOf(target)
    const expected = storage_bytes + rows * rowOverhead
    const received = yield* withProgress("Receiving", ({ update }) =>
      send(target, "tables.export", {}, { read: (response) => readBytes(response, (bytes) => update(bytes, expected)) })
    )
    const tables = readDocument(received.toString())
    if (tables === undefined) return yield* new Stopped({ message: "The service's response is not an export." })
    const chosen: Format = Option.getOrElse(format, () => formatOf(output))
    const bytes = chosen === "ndjson" ? Buffer.from(printLines(tables)) : received
    yield* output === "-" ? writeOutput(bytes) : writeFile(output, bytes)
    const count = [...tables.values()].reduce((sum, rows) => sum + rows.length, 0)
    const place = output === "-" ? "" : ` to ${output}`
    yield* Console.error(`Exported ${amount(tables.size, count)}, ${sizeText(bytes.length)}${place}.`)
  })
})

/** The body of an import: the export as it is, or rows of one table as an export would have them. */
const bodyOf = (
  text: string,
  format: Format,
  table: string | undefined,
  now: string
): Result.Result<string, Stopped> => {
  if (table !== undefined) return Result.map(readPlain(text, table, now), printDocument)
  if (format === "csv" || (format === "json" && /^\s*\[/.test(text))) {
    return Result.fail(new Stopped({ message: "These are rows of one table: name it with --table." }))
  }
  return format === "json" ? Result.succeed(text) : Result.map(readLines(text), printDocument)
}

const readInput = Effect.fnUntraced(function* (file: string, format: Format, table: string | undefined) {
  const bytes = yield* Effect.tryPromise({
    try: () => (file === "-" ? buffer(process.stdin) : readFile(file)),
    catch: (error) => new Stopped({ message: `${file} cannot be read: ${(error as Error).message}` })
  })
  const marked = hasByteOrderMark(bytes)
  const fault = marked && bytes.length > 3 ? undefined : startFault(bytes, file === "-" ? "The input" : file)
  if (fault !== undefined) return yield* new Stopped({ message: fault })
  const text = yield* Effect.try({
    try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(marked ? bytes.subarray(3) : bytes),
    catch: () => new Stopped({ message: `${file} is not UTF-8.` })
  })
  const now = timeText(yield* Clock.currentTimeMillis)
  return JsonText.trusted(yield* Effect.fromResult(bodyOf(text, format, table, now)))
})

export const importCommand = accountCommand("import", {
  description:
    "Add the rows of an export to an account over REST, all or none, with their ids and times. Fails if a row already exists. With --table, add the rows of any list.",
  examples: [
    ["agent-memory import backup.json --dry-run", "See whether it would work"],
    ["agent-memory import backup.json --url https://memory.example.com", "Into another service"],
    ["agent-memory import expenses.csv --table expenses", "A spreadsheet into one table"]
  ],
  flags: {
    file: Argument.String("file").pipe(Argument.withDescription("The file that export wrote; - is standard input")),
    format: Flag.Literals("format", formats).pipe(
      Flag.withDescription("json, ndjson, or with --table csv. By default the format of the file's name, else json"),
      Flag.optional
    ),
    table: textFlag(
      "table",
      "string",
      "The file is no export, but rows for this table: a JSON array of objects, an object a line, or CSV with a line of names"
    ),
    dryRun: switchFlag("dry-run", "Check what would be imported, and change nothing")
  },
  run: Effect.fnUntraced(function* (target, { dryRun, file, format, table }) {
    const chosen = Option.getOrElse(format, () => formatOf(file))
    const body = yield* readInput(file, chosen, Option.getOrUndefined(table))
    const { account_id, limits } = yield* usageOf(target)
    if (body.bytes > limits.import_request_bytes) {
      return yield* new Stopped({
        message:
          `The import has ${sizeText(body.bytes)}; this service accepts ${sizeText(limits.import_request_bytes)} at once. ` +
          `Raise LIMIT_STORAGE_BYTES there, or import the tables one after another.`
      })
    }
    const sent = { query: dryRunQuery({ dryRun }), body }
    const { rows, tables } = yield* withProgress("Sending", ({ say, update }) =>
      send<ImportAnswer>(target, "tables.import", sent, {
        onSent: (bytes) => (bytes < body.bytes ? update(bytes, body.bytes) : say("The service is storing the rows …"))
      })
    )
    const done = dryRun ? "Would import" : "Imported"
    yield* Console.log(`${done} ${amount(tables, rows)}, ${sizeText(body.bytes)}, into account ${visible(account_id)}.`)
    if (dryRun) yield* Console.log("Nothing was changed.")
  })
})

const readBytes = async (response: Response, onReceived: (bytes: number) => void): Promise<Buffer> => {
  const chunks: Array<Uint8Array> = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    bytes += chunk.length
    onReceived(bytes)
  }
  return Buffer.concat(chunks)
}
