import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Change, ChangePage, ChangeQuery, UndoAnswer } from "../client/AccountTypes.ts"
import { send, targetFlags, targetOf } from "./RemoteAccount.ts"
import { Stopped, visible } from "./Formats.ts"

const whole = (text: string, least: number): number | undefined =>
  /^\d{1,15}$/.test(text) && Number(text) >= least ? Number(text) : undefined

const changeLine = ({ at, change, changed_by, operation, row_id, table, version }: Change): string =>
  [
    String(change),
    at,
    operation,
    table,
    row_id,
    version === undefined ? "-" : `version ${version}`,
    `${changed_by.kind} ${JSON.stringify(changed_by.name)}`
  ].join("\t")

const changesFlags = {
  ...targetFlags,
  since: Flag.String("since").pipe(
    Flag.withMetavar("change"),
    Flag.withDescription("Show the changes after this one, oldest first; 0 shows all that are kept"),
    Flag.optional
  ),
  table: Flag.String("table").pipe(Flag.withDescription("Only changes of this table"), Flag.optional),
  by: Flag.String("by").pipe(
    Flag.withMetavar("id"),
    Flag.withDescription("Only changes by the key, connection or link with this id"),
    Flag.optional
  ),
  limit: Flag.Int("limit").pipe(
    Flag.withDescription("How many changes to show at most, from 1 to 1000"),
    Flag.withDefault(100)
  ),
  json: Flag.Boolean("json").pipe(
    Flag.withDescription("Print the service's answer instead of a line for each change"),
    Flag.withDefault(false)
  )
}

export const changesCommand = Command.make(
  "changes",
  changesFlags,
  Effect.fnUntraced(function* ({ by, json, limit, since, table, ...wanted }) {
    const target = yield* targetOf(wanted)
    const after = Option.map(since, (text) => whole(text, 0))
    if (Option.isSome(after) && after.value === undefined) {
      return yield* new Stopped({ message: "--since takes the number of a change, or 0" })
    }
    const query: ChangeQuery = {
      limit,
      ...(Option.isSome(after) && after.value !== undefined && { since: after.value }),
      ...(Option.isSome(table) && { table: table.value }),
      ...(Option.isSome(by) && { by: by.value })
    }
    const page = yield* send<ChangePage>(target, "changes.list", { query: { ...query } })
    if (json) return yield* Console.log(visible(JSON.stringify(page)))
    for (const change of page.changes) yield* Console.log(visible(changeLine(change)))
    if (page.changes.length === 0) yield* Console.error("There are no such changes.")
    if (page.has_more) yield* Console.error("There are more: raise --limit, or go on with --since.")
  })
).pipe(
  Command.withDescription(
    "Show who changed what in an account, over REST: newest first, a line for each row. The first column is the number to undo a write by."
  ),
  Command.withExamples([
    { command: "agent-memory changes --table tasks", description: "What happened to one table" },
    { command: "agent-memory changes --since 17 --json", description: "What came after a change, for a program" }
  ])
)

const undoFlags = {
  change: Argument.String("change").pipe(Argument.withDescription("The number of the write, from changes")),
  ...targetFlags,
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withDefault(false),
    Flag.withDescription("Ask the service what would be undone, or why not, and change nothing")
  )
}

export const undoCommand = Command.make(
  "undo",
  undoFlags,
  Effect.fnUntraced(function* ({ change, dryRun, ...wanted }) {
    const target = yield* targetOf(wanted)
    const number = whole(change, 1)
    if (number === undefined) {
      return yield* new Stopped({ message: `${visible(change)} is no number of a change: expected 1 or more` })
    }
    const query = dryRun ? { dry_run: true } : {}
    const answer = yield* send<UndoAnswer>(target, "changes.undo", { query, body: { change: number } })
    for (const { operation, row_id, table } of answer.rows) {
      yield* Console.log(visible([operation, table, row_id].join("\t")))
    }
    const rows = answer.rows.length === 1 ? "1 row" : `${answer.rows.length} rows`
    yield* Console.error(
      dryRun
        ? `Would undo change ${number}: ${rows}. Nothing was changed.`
        : `Undid change ${number}: ${rows}.${answer.change === undefined ? "" : ` This is change ${answer.change}.`}`
    )
  })
).pipe(
  Command.withDescription(
    "Take back one whole write, over REST: added rows are deleted, others get their former content. If one of them has changed since, nothing is done."
  ),
  Command.withExamples([
    { command: "agent-memory undo 17 --dry-run", description: "See what would be undone" },
    { command: "agent-memory undo 17", description: "Undo it; the number that is printed undoes that again" }
  ])
)
