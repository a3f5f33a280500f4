import { Console, Effect, Option } from "effect"
import { Argument, Flag } from "effect/cli"
import type { Change, ChangePage, UndoAnswer } from "../client/AccountTypes.ts"
import { dryRunQuery } from "../client/Calls.ts"
import { accountCommand, given, send, switchFlag, textFlag } from "./RemoteAccount.ts"
import { rowCount, Stopped, visible } from "./Formats.ts"

const isWhole = (text: string, least: number): boolean => /^\d{1,15}$/.test(text) && Number(text) >= least

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

export const changesCommand = accountCommand("changes", {
  description:
    "Show who changed what in an account, over REST: newest first, a line for each row. The first column is the number to undo a write by.",
  examples: [
    ["agent-memory changes --table tasks", "What happened to one table"],
    ["agent-memory changes --since 17 --json", "What came after a change, for a program"]
  ],
  flags: {
    since: textFlag("since", "change", "Show the changes after this one, oldest first; 0 shows all that are kept"),
    table: textFlag("table", "string", "Only changes of this table"),
    by: textFlag("by", "id", "Only changes by the key, connection or link with this id"),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription("How many changes to show at most, from 1 to 1000"),
      Flag.withDefault(100)
    ),
    json: switchFlag("json", "Print the service's answer instead of a line for each change")
  },
  run: Effect.fnUntraced(function* (target, { by, json, limit, since, table }) {
    if (Option.isSome(since) && !isWhole(since.value, 0)) {
      return yield* new Stopped({ message: "--since takes the number of a change, or 0" })
    }
    const query = { limit, ...given({ since: Option.map(since, Number), table, by }) }
    const page = yield* send<ChangePage>(target, "changes.list", { query })
    if (json) return yield* Console.log(visible(JSON.stringify(page)))
    for (const change of page.changes) yield* Console.log(visible(changeLine(change)))
    if (page.changes.length === 0) yield* Console.error("There are no such changes.")
    if (page.has_more) yield* Console.error("There are more: raise --limit, or go on with --since.")
  })
})

export const undoCommand = accountCommand("undo", {
  description:
    "Take back one whole write, over REST: added rows are deleted, others get their former content. If one of them has changed since, nothing is done.",
  examples: [
    ["agent-memory undo 17 --dry-run", "See what would be undone"],
    ["agent-memory undo 17", "Undo it; the number that is printed undoes that again"]
  ],
  flags: {
    change: Argument.String("change").pipe(Argument.withDescription("The number of the write, from changes")),
    dryRun: switchFlag("dry-run", "Ask the service what would be undone, or why not, and change nothing")
  },
  run: Effect.fnUntraced(function* (target, { change, dryRun }) {
    if (!isWhole(change, 1)) {
      return yield* new Stopped({ message: `${visible(change)} is no number of a change: expected 1 or more` })
    }
    const number = Number(change)
    const sent = { query: dryRunQuery({ dryRun }), body: { change: number } }
    const answer = yield* send<UndoAnswer>(target, "changes.undo", sent)
    for (const { operation, row_id, table } of answer.rows) {
      yield* Console.log(visible([operation, table, row_id].join("\t")))
    }
    const rows = rowCount(answer.rows.length)
    yield* Console.error(
      dryRun
        ? `Would undo change ${number}: ${rows}. Nothing was changed.`
        : `Undid change ${number}: ${rows}.${answer.change === undefined ? "" : ` This is change ${answer.change}.`}`
    )
  })
})
