import { Effect, Option, Console } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Sent } from "../client/Calls.ts"
import { defaultQueryLimit, maxHits, maxQueryLimit, maxSearchLength } from "../domain/Limits.ts"
import { send, targetFlags, targetOf } from "./RemoteAccount.ts"
import { writeOutput, Stopped, visible } from "./Formats.ts"
import { scan } from "../domain/json/ParseEnvelope.ts"

const rowsFlags = {
  table: Argument.String("table").pipe(Argument.withDescription("The table's name")),
  ...targetFlags,
  filter: Flag.String("filter").pipe(
    Flag.withMetavar("json"),
    Flag.withDescription(
      'A JSON object of fields and values or operators, for example {"done":false,"price":{"gte":10,"lt":20}}'
    ),
    Flag.optional
  ),
  search: Flag.String("search").pipe(
    Flag.withMetavar("words"),
    Flag.withDescription(
      `Words that must all occur in the row's texts, whatever their case and accents; up to ${maxSearchLength} characters`
    ),
    Flag.optional
  )
}

/** The parameters that were given. */
const given = (flags: Readonly<Record<string, Option.Option<string | number>>>) =>
  Object.fromEntries(
    Object.entries(flags).flatMap(([name, value]) => (Option.isSome(value) ? [[name, value.value]] : []))
  )

interface Account {
  readonly url: string
  readonly apiKeyFile: Option.Option<string>
}

/** Prints a response as the service sent it, so that numbers keep all their digits. */
const printed = Effect.fnUntraced(function* (
  account: Account,
  operation: "rows.count" | "rows.query" | "tables.search",
  sent: Sent
) {
  const target = yield* targetOf(account)
  const read = async (response: Response) => Buffer.from(`${await response.text()}\n`)
  yield* writeOutput(yield* send(target, operation, sent, { read }))
})

export const queryCommand = Command.make(
  "query",
  {
    ...rowsFlags,
    sort: Flag.String("sort").pipe(
      Flag.withMetavar("field"),
      Flag.withDescription(
        "A field to sort by; --sort=-field sorts descending. Without it, rows are in insertion order"
      ),
      Flag.optional
    ),
    fields: Flag.String("fields").pipe(
      Flag.withMetavar("names"),
      Flag.withDescription("The fields to print beside id, for example title,done"),
      Flag.optional
    ),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription(`The most rows, 1 to ${maxQueryLimit}; by default ${defaultQueryLimit}`),
      Flag.optional
    ),
    cursor: Flag.String("cursor").pipe(
      Flag.withDescription("The next_cursor of the page before, with the same other flags"),
      Flag.optional
    )
  },
  ({ apiKeyFile, table, url, ...parameters }) =>
    printed({ url, apiKeyFile }, "rows.query", { params: { table }, query: given(parameters) })
).pipe(
  Command.withDescription("Print rows of a table as JSON, exactly as they are stored."),
  Command.withExamples([
    { command: "agent-memory query tasks --search dentist", description: "Rows with a word in any of their texts" },
    {
      command: `agent-memory query tasks --filter '{"due":{"lt":"2026-12-01"}}' --sort due`,
      description: "Rows in a range, sorted"
    }
  ])
)

const fieldFlag = (name: string, description: string) =>
  Flag.String(name).pipe(Flag.withMetavar("field"), Flag.withDescription(description), Flag.optional)

export const countCommand = Command.make(
  "count",
  {
    ...rowsFlags,
    by: fieldFlag("by", "Group the rows by this field's values, also for what is added up"),
    sum: fieldFlag("sum", "Add up this field's numbers, exactly"),
    min: fieldFlag("min", "Find this field's least number"),
    max: fieldFlag("max", "Find this field's greatest number"),
    avg: fieldFlag("avg", "Average this field's numbers")
  },
  ({ apiKeyFile, table, url, ...parameters }) =>
    printed({ url, apiKeyFile }, "rows.count", { params: { table }, query: given(parameters) })
).pipe(
  Command.withDescription("Print how many rows of a table match, and what they add up to, as JSON."),
  Command.withExamples([
    { command: `agent-memory count tasks --filter '{"done":false}'`, description: "Rows of one value" },
    { command: "agent-memory count expenses --by category --sum amount", description: "Totals per category" }
  ])
)

export const searchCommand = Command.make(
  "search",
  {
    words: Argument.String("words").pipe(Argument.withDescription("Words that must all occur in a row's texts")),
    ...targetFlags
  },
  ({ words, ...account }) => printed(account, "tables.search", { query: { search: words } })
).pipe(
  Command.withDescription(`Print the rows of all tables that have these words, at most ${maxHits}, as JSON.`),
  Command.withExamples([{ command: 'agent-memory search "dentist march"', description: "Rows with both words" }])
)

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
