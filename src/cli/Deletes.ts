import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { scan } from "../domain/json/ParseEnvelope.ts"
import { send, targetFlags, targetOf } from "./RemoteAccount.ts"
import { Stopped, visible } from "./TerminalText.ts"

interface Answer {
  readonly deleted: number
  readonly forgotten?: number
  readonly ids?: ReadonlyArray<string>
  readonly has_more?: boolean
  readonly restorable_until?: string | null
  readonly change?: number
}

const deleteFlags = {
  table: Argument.String("table").pipe(Argument.withDescription("The table's name")),
  ...targetFlags,
  filter: Flag.String("filter").pipe(
    Flag.withMetavar("json"),
    Flag.withDescription('Which rows, as for query: a JSON object with at least one field, for example {"done":true}'),
    Flag.optional
  ),
  all: Flag.Boolean("all").pipe(
    Flag.withDescription("All rows of the table, in place of a filter"),
    Flag.withDefault(false)
  ),
  forever: Flag.Boolean("forever").pipe(
    Flag.withDescription("For good, with all their versions, and rows that had been deleted before too"),
    Flag.withDefault(false)
  ),
  dryRun: Flag.Boolean("dry-run").pipe(
    Flag.withDescription("Ask the service what would be deleted, and change nothing"),
    Flag.withDefault(false)
  )
}

const rows = (count: number): string => (count === 1 ? "1 row" : `${count} rows`)

const summary = ({ change, deleted, forgotten, restorable_until }: Answer, isDryRun: boolean): string => {
  const would = isDryRun ? "Would delete" : "Deleted"
  if (forgotten !== undefined) {
    return `${would} ${rows(forgotten)} for good.${isDryRun ? " Nothing was changed." : " They can't be restored."}`
  }
  if (isDryRun || change === undefined) return `${would} ${rows(deleted)}.${isDryRun ? " Nothing was changed." : ""}`
  return `${would} ${rows(deleted)}. Until ${restorable_until} this can be undone: agent-memory undo ${change}`
}

export const deleteCommand = Command.make(
  "delete",
  deleteFlags,
  Effect.fnUntraced(function* ({ all, dryRun, filter, forever, table, ...wanted }) {
    const target = yield* targetOf(wanted)
    const json = Option.isSome(filter) ? scan(filter.value) : undefined
    if (json?.issue !== undefined) {
      return yield* new Stopped({ message: `--filter is no JSON: ${json.issue.message}` })
    }
    if (json === undefined && !all) {
      return yield* new Stopped({ message: "Say which rows: --filter with a JSON object, or --all" })
    }
    const body = { ...(json && { filter: json.value }), ...(all && { all }), ...(forever && { forever }) }
    const query = dryRun ? { dry_run: true } : {}
    const answer = yield* send<Answer>(target, "rows.delete", { params: { table }, query, body })
    for (const id of answer.ids ?? []) yield* Console.log(visible(id))
    if (answer.has_more === true) yield* Console.error("There are more ids than these.")
    yield* Console.error(summary(answer, dryRun))
  })
).pipe(
  Command.withDescription(
    "Delete rows of a table, over REST, and print their ids. They can be restored for a time, unless they are deleted for good."
  ),
  Command.withExamples([
    {
      command: `agent-memory delete tasks --filter '{"done":true}' --dry-run`,
      description: "See what would be deleted"
    },
    { command: "agent-memory delete tasks --all --forever", description: "Leave nothing of a table" }
  ])
)
