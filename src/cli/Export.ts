import { Console, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { randomUUID } from "node:crypto"
import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { amount, formatOf, formats, printLines, readDocument, sizeText, type Format } from "./Formats.ts"
import { withProgress } from "./Progress.ts"
import { refusal, send } from "./Rest.ts"
import { Stopped } from "./Stopped.ts"
import { targetFlags, targetOf, usageOf } from "./Target.ts"
import { visible } from "./Visible.ts"

/** Bytes that a row's system fields and its place among others take. */
const rowOverhead = 135

/** The whole or nothing: a file that is there under its own name is complete, and the one before it stays until then. */
const replaceFile = (file: string, bytes: Uint8Array) => {
  // Never a file that is there already: it could be somebody else's, and readable for others.
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
      // A pipe or a device is written to instead of replaced, and a link leads to its file.
      const found = statSync(file, { throwIfNoEntry: false })
      if (found === undefined) replaceFile(file, bytes)
      else if (found.isFile()) replaceFile(realpathSync(file), bytes)
      else writeFileSync(file, bytes)
    },
    catch: (error) => new Stopped({ message: `${file} cannot be written: ${(error as Error).message}` })
  })

/** A pipe gets the exact bytes; a terminal, the same document without what would control it. */
const writeOutput = (bytes: Uint8Array) =>
  Effect.callback<void, Stopped>((resume) => {
    const shown = process.stdout.isTTY ? visible(Buffer.from(bytes).toString()) : bytes
    process.stdout.write(shown, (error) =>
      resume(error ? Effect.fail(new Stopped({ message: `The export was not read: ${error.message}` })) : Effect.void)
    )
  })

const flags = {
  ...targetFlags,
  output: Flag.String("output").pipe(
    Flag.withAlias("o"),
    Flag.withMetavar("file"),
    Flag.withDescription("The file to write; without it, or with -, standard output"),
    Flag.withDefault("-")
  ),
  format: Flag.Literals("format", formats).pipe(
    Flag.withDescription(
      "json: the bytes of GET /v1/_export; ndjson: a line for each row. Without it, what the file's name says, else json"
    ),
    Flag.optional
  )
}

export const exportCommand = Command.make(
  "export",
  flags,
  Effect.fnUntraced(function* ({ format, output, ...wanted }) {
    const target = yield* targetOf(wanted)
    const { rows, storage_bytes } = yield* usageOf(target)
    const expected = storage_bytes + rows * rowOverhead
    const reply = yield* withProgress("Receiving", ({ update }) =>
      send(target, { method: "GET", path: "/v1/_export", onReceived: (bytes) => update(bytes, expected) })
    )
    if (reply.status !== 200) return yield* refusal(reply)
    const tables = readDocument(reply.body.toString())
    if (tables === undefined)
      return yield* new Stopped({ message: "The service answered something else than an export." })
    const chosen: Format = Option.getOrElse(format, () => formatOf(output))
    const bytes = chosen === "json" ? reply.body : Buffer.from(printLines(tables))
    yield* output === "-" ? writeOutput(bytes) : writeFile(output, bytes)
    const count = [...tables.values()].reduce((sum, rows) => sum + rows.length, 0)
    const place = output === "-" ? "" : ` to ${output}`
    yield* Console.error(`Exported ${amount(tables.size, count)}, ${sizeText(bytes.length)}${place}.`)
  })
).pipe(
  Command.withDescription(
    "Save all rows of an account, over REST. Standard output gets the export and nothing else. Versions, keys and links are no part of it."
  ),
  Command.withExamples([
    { command: "agent-memory export -o backup.json", description: "Save the account of AGENT_MEMORY_API_KEY" },
    { command: "agent-memory export --format ndjson | gzip > backup.ndjson.gz", description: "Into a pipe" }
  ])
)
