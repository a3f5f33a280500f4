import { Effect, Schema } from "effect"
import { bounded } from "../../../domain/ExactJson.ts"
import { invalid, withMembers } from "../../../domain/Problem.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { type FailureOf, Writes } from "../../tables/Writes.ts"
import { addedRows, boundedAdds, shownBy, written } from "../Results.ts"
import { addReceipt, addsReceipt } from "../Receipts.ts"
import { adds, targetOf, tool } from "../Tool.ts"
import * as F from "../ToolFields.ts"

const asRow = (body: JsonText): JsonText => JsonText.trusted(`{"row":${body.text}}`)

/** A problem of one of several rows, at its place in the arguments. */
const ofRows = (problem: FailureOf<"batch">): FailureOf<"batch"> => {
  const { detail = "", operation } = problem
  if (operation === undefined) return problem
  const at = (path: string) => path.replace(/^\/operations\/(\d+)(?:\/row)?/, "/rows/$1")
  const told = detail.startsWith("/operations/") ? at(detail) : `/rows/${operation}: ${detail}`
  const errors = "errors" in problem ? problem.errors : undefined
  return withMembers(problem, {
    detail: told,
    ...(errors && { errors: errors.map((issue) => ({ ...issue, path: at(issue.path ?? "") })) })
  })
}

export const add = tool({
  name: "add",
  title: "Add rows",
  description:
    "Adds a row to a table, or several, all or none. Use it when each event is a new row; to save or replace, use upsert.",
  hints: adds,
  rows: ({ batchOperations }) => batchOperations,
  input: Schema.Struct({
    table: F.table,
    returnRows: Schema.optionalKey(F.returnRows),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    row: Schema.optionalKey(F.row),
    rows: Schema.optionalKey(
      Schema.Array(F.exactObject("As row.")).annotate({
        description: "1 to {limits.batchOperations} of them, instead of row.",
        ...bounded("batchOperations", "rows")
      })
    )
  }),
  output: Schema.Struct({
    ...F.writtenRow,
    added: Schema.optionalKey(F.count("Of rows: how many.")),
    rows: Schema.optionalKey(F.storedRows),
    ids: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "Of up to 20 rows." })),
    has_more: Schema.optionalKey(Schema.Boolean.annotate({ description: "Rows are left out." })),
    change: F.changeTold,
    replayed: F.replayed
  }),
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const { row, rows } = args
    if (rows !== undefined) {
      if (row !== undefined) return yield* invalid("/rows", "is not taken with row: put all rows into rows")
      if (rows.length === 0) return yield* invalid("/rows", "must hold at least one row")
      const operations = rows.map((row) => ({ action: "add", row }) as const)
      const batch = Effect.mapError(writes.batch(actor, targetOf(args), operations), ofRows)
      return yield* written(
        batch,
        shownBy(args, boundedAdds, (body) => addsReceipt(addedRows(body)))
      )
    }
    if (row === undefined) return yield* invalid("/row", "is required, or rows for several")
    const write = writes.write(actor, targetOf(args), { action: "add", row })
    return yield* written(write, shownBy(args, asRow, addReceipt))
  })
})
