import { Effect, Option, Console } from "effect"
import { Argument, Flag } from "effect/cli"
import { dryRunQuery } from "../client/Calls.ts"
import type { Sent } from "../client/ContractOperations.ts"
import { defaultQueryLimit, maxHits, maxQueryLimit, maxSearchLength } from "../domain/Limits.ts"
import { accountCommand, given, send, switchFlag, textFlag, type Target } from "./RemoteAccount.ts"
import { rowCount, writeOutput, Stopped, visible } from "./Formats.ts"
import { scan } from "../domain/json/ParseEnvelope.ts"

const table = Argument.String("table").pipe(Argument.withDescription("The table's name"))

const rowsFlags = {
  table,
  filter: textFlag(
    "filter",
    "json",
    'A JSON object of fields and values or operators, for example {"done":false,"price":{"gte":10,"lt":20}}'
  ),
  search: textFlag(
    "search",
    "words",
    `Words that must all occur in the row's texts, whatever their case and accents; up to ${maxSearchLength} characters`
  )
}

/** Prints a response as the service sent it, so that numbers keep all their digits. */
const printed = Effect.fnUntraced(function* (
  target: Target,
  operation: "rows.count" | "rows.query" | "tables.search",
  sent: Sent
) {
  const read = async (response: Response) => Buffer.from(`${await response.text()}\n`)
  yield* writeOutput(yield* send(target, operation, sent, { read }))
})

export const queryCommand = accountCommand("query", {
  description: "Print rows of a table as JSON, exactly as they are stored.",
  examples: [
    ["agent-memory query tasks --search dentist", "Rows with a word in any of their texts"],
    [`agent-memory query tasks --filter '{"due":{"lt":"2026-12-01"}}' --sort due`, "Rows in a range, sorted"]
  ],
  flags: {
    ...rowsFlags,
    sort: textFlag(
      "sort",
      "field",
      "A field to sort by; --sort=-field sorts descending. Without it, rows are in insertion order"
    ),
    fields: textFlag("fields", "names", "The fields to print beside id, for example title,done"),
    limit: Flag.Int("limit").pipe(
      Flag.withDescription(`The most rows, 1 to ${maxQueryLimit}; by default ${defaultQueryLimit}`),
      Flag.optional
    ),
    cursor: textFlag("cursor", "string", "The next_cursor of the page before, with the same other flags")
  },
  run: (target, { table, ...parameters }) =>
    printed(target, "rows.query", { params: { table }, query: given(parameters) })
})

export const countCommand = accountCommand("count", {
  description: "Print how many rows of a table match, and what they add up to, as JSON.",
  examples: [
    [`agent-memory count tasks --filter '{"done":false}'`, "Rows of one value"],
    ["agent-memory count expenses --by category --sum amount", "Totals per category"]
  ],
  flags: {
    ...rowsFlags,
    by: textFlag("by", "field", "Group the rows by this field's values, also for what is added up"),
    sum: textFlag("sum", "field", "Add up this field's numbers, exactly"),
    min: textFlag("min", "field", "Find this field's least number"),
    max: textFlag("max", "field", "Find this field's greatest number"),
    avg: textFlag("avg", "field", "Average this field's numbers")
  },
  run: (target, { table, ...parameters }) =>
    printed(target, "rows.count", { params: { table }, query: given(parameters) })
})

export const searchCommand = accountCommand("search", {
  description: `Print the rows of all tables that have these words, at most ${maxHits}, as JSON.`,
  examples: [['agent-memory search "dentist march"', "Rows with both words"]],
  flags: {
    words: Argument.String("words").pipe(Argument.withDescription("Words that must all occur in a row's texts"))
  },
  run: (target, { words }) => printed(target, "tables.search", { query: { search: words } })
})

interface Answer {
  readonly deleted: number
  readonly forgotten?: number
  readonly ids?: ReadonlyArray<string>
  readonly has_more?: boolean
  readonly restorable_until?: string | null
  readonly change?: number
}

const summary = ({ change, deleted, forgotten, restorable_until }: Answer, isDryRun: boolean): string => {
  const would = isDryRun ? "Would delete" : "Deleted"
  if (forgotten !== undefined) {
    return `${would} ${rowCount(forgotten)} for good.${isDryRun ? " Nothing was changed." : " They can't be restored."}`
  }
  if (isDryRun || change === undefined)
    return `${would} ${rowCount(deleted)}.${isDryRun ? " Nothing was changed." : ""}`
  return `${would} ${rowCount(deleted)}. Until ${restorable_until} this can be undone: agent-memory undo ${change}`
}

export const deleteCommand = accountCommand("delete", {
  description:
    "Delete rows of a table, over REST, and print their ids. They can be restored for a time, unless they are deleted for good.",
  examples: [
    [`agent-memory delete tasks --filter '{"done":true}' --dry-run`, "See what would be deleted"],
    ["agent-memory delete tasks --all --forever", "Leave nothing of a table"]
  ],
  flags: {
    table,
    filter: textFlag(
      "filter",
      "json",
      'Which rows, as for query: a JSON object with at least one field, for example {"done":true}'
    ),
    all: switchFlag("all", "All rows of the table, in place of a filter"),
    forever: switchFlag("forever", "For good, with all their versions, and rows that had been deleted before too"),
    dryRun: switchFlag("dry-run", "Ask the service what would be deleted, and change nothing")
  },
  run: Effect.fnUntraced(function* (target, { all, dryRun, filter, forever, table }) {
    const json = Option.isSome(filter) ? scan(filter.value) : undefined
    if (json?.issue !== undefined) {
      return yield* new Stopped({ message: `--filter is no JSON: ${json.issue.message}` })
    }
    if (json === undefined && !all) {
      return yield* new Stopped({ message: "Say which rows: --filter with a JSON object, or --all" })
    }
    const body = { ...(json && { filter: json.value }), ...(all && { all }), ...(forever && { forever }) }
    const sent = { params: { table }, query: dryRunQuery({ dryRun }), body }
    const answer = yield* send<Answer>(target, "rows.delete", sent)
    for (const id of answer.ids ?? []) yield* Console.log(visible(id))
    if (answer.has_more === true) yield* Console.error("There are more ids than these.")
    yield* Console.error(summary(answer, dryRun))
  })
})
