import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Sent } from "../client/Calls.ts"
import { defaultQueryLimit, maxHits, maxQueryLimit, maxSearchLength } from "../domain/Limits.ts"
import { send, targetFlags, targetOf } from "./RemoteAccount.ts"
import { writeOutput } from "./TerminalText.ts"

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
