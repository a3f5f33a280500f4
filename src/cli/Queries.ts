import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { defaultQueryLimit, maxQueryLimit, maxSearchLength } from "../domain/Limits.ts"
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
  operation: "rows.count" | "rows.query",
  table: string,
  query: Readonly<Record<string, string | number>>
) {
  const target = yield* targetOf(account)
  const read = async (response: Response) => Buffer.from(`${await response.text()}\n`)
  yield* writeOutput(yield* send(target, operation, { params: { table }, query }, { read }))
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
  ({ apiKeyFile, table, url, ...parameters }) => printed({ url, apiKeyFile }, "rows.query", table, given(parameters))
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

export const countCommand = Command.make("count", rowsFlags, ({ apiKeyFile, table, url, ...parameters }) =>
  printed({ url, apiKeyFile }, "rows.count", table, given(parameters))
).pipe(
  Command.withDescription("Print how many rows of a table match, as JSON."),
  Command.withExamples([
    { command: `agent-memory count tasks --filter '{"done":false}'`, description: "Rows of one value" }
  ])
)
