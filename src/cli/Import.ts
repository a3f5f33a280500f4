import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { SecureRandom } from "effect/crypto"
import { NodeCrypto } from "@effect/platform-node"
import { readFile } from "node:fs/promises"
import { buffer } from "node:stream/consumers"
import { hasByteOrderMark, startFault } from "../domain/json/Utf8.ts"
import { amount, formatOf, formats, printDocument, readLines, sizeText, type Format } from "./Formats.ts"
import { withProgress } from "./Progress.ts"
import { refusal, send } from "./Rest.ts"
import { Stopped } from "./Stopped.ts"
import { targetFlags, targetOf, usageOf } from "./Target.ts"
import { visible } from "./Visible.ts"

/** What the service takes, from a file or, with -, from standard input. */
const readInput = (file: string, format: Format) =>
  Effect.gen(function* () {
    const bytes = yield* Effect.tryPromise({
      try: () => (file === "-" ? buffer(process.stdin) : readFile(file)),
      catch: (error) => new Stopped({ message: `${file} cannot be read: ${(error as Error).message}` })
    })
    const marked = hasByteOrderMark(bytes)
    const fault = marked && bytes.length > 3 ? undefined : startFault(bytes, file === "-" ? "The input" : file)
    if (fault !== undefined) return yield* new Stopped({ message: fault })
    const text = marked ? bytes.subarray(3) : bytes
    if (format === "json") return text
    const lines = yield* Effect.try({
      try: () => new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(text),
      catch: () => new Stopped({ message: `${file} is not UTF-8.` })
    })
    return Buffer.from(printDocument(yield* Effect.fromResult(readLines(lines))))
  })

const flags = {
  file: Argument.String("file").pipe(Argument.withDescription("What export wrote; - is standard input")),
  ...targetFlags,
  format: Flag.Literals("format", formats).pipe(
    Flag.withDescription("json or ndjson, as export wrote it. Without it, what the file's name says, else json"),
    Flag.optional
  ),
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Ask the service what would be imported, or why not, and change nothing")
  )
}

export const importCommand = Command.make(
  "import",
  flags,
  Effect.fnUntraced(function* ({ dryRun, file, format, ...wanted }) {
    const random = yield* SecureRandom.SecureRandom
    const target = yield* targetOf(wanted)
    const body = yield* readInput(
      file,
      Option.getOrElse(format, () => formatOf(file))
    )
    const { account_id, limits } = yield* usageOf(target)
    if (body.length > limits.import_request_bytes) {
      return yield* new Stopped({
        message:
          `The import has ${sizeText(body.length)}; this service takes ${sizeText(limits.import_request_bytes)} at once. ` +
          `Raise LIMIT_STORAGE_BYTES there, or import the tables one after another.`
      })
    }
    const reply = yield* withProgress("Sending", ({ say, update }) =>
      Effect.flatMap(random.uuidV4(), (key) =>
        send(target, {
          method: "POST",
          path: `/v1/_import${dryRun ? "?dry_run=true" : ""}`,
          headers: { "idempotency-key": key },
          body,
          onSent: (bytes) => (bytes < body.length ? update(bytes, body.length) : say("The service stores the rows …"))
        })
      )
    )
    if (reply.status !== 200) return yield* refusal(reply)
    const { rows, tables } = JSON.parse(reply.body.toString()) as { readonly tables: number; readonly rows: number }
    const done = dryRun ? "Would import" : "Imported"
    yield* Console.log(
      `${done} ${amount(tables, rows)}, ${sizeText(body.length)}, into account ${visible(account_id)}.`
    )
    if (dryRun) yield* Console.log("Nothing was changed.")
  })
).pipe(
  Command.provide(NodeCrypto.layer),
  Command.withDescription(
    "Add the rows of an export to an account, over REST: all or none, with their ids and times. Rows that are there already refuse it."
  ),
  Command.withExamples([
    { command: "agent-memory import backup.json --dry-run", description: "See whether it would work" },
    { command: "agent-memory import backup.json --url https://memory.example.com", description: "Into another service" }
  ])
)
