import { Result } from "effect"
import type { EditConflict, ReservedField, RowNotFound } from "../../../domain/Problem.ts"
import type { JsonProblem } from "../../../domain/JsonProblem.ts"
import type { Row } from "../../../domain/Row.ts"
import { noSuchRow, printRow, refusedByGuard, type OperationKind } from "./OperationKind.ts"
import {
  canonicalChanges,
  Changer,
  checkChanges,
  growthOf,
  memberOf,
  type RowChanges,
  type SentChanges
} from "./RowChanges.ts"

/** Changes of the row with this id; the id is any text. */
export interface SentUpdateRow extends SentChanges {
  readonly action: "update_row"
  readonly id: string
}

export interface UpdateRow extends RowChanges {
  readonly action: "update_row"
  readonly id: string
}

export const updateRow: OperationKind<
  SentUpdateRow,
  UpdateRow,
  { readonly row: Row; readonly note: string | undefined },
  EditConflict | JsonProblem | ReservedField | RowNotFound
> = {
  addsRows: false,
  fields: ({ patch }) => patch,
  check: (sent, size, at) =>
    Result.map(checkChanges(sent, size, at), (changes) => ({ action: sent.action, id: sent.id, ...changes })),
  canonical: ({ action, id, ...changes }) => ({ action, id, ...canonicalChanges(changes) }),
  selects: ({ id }) => ({ id }),
  forecast: (write, forecast) => forecast.patchRow(...growthOf(write)),
  *apply(write, { changedBy, now, table, workspace }, at) {
    const row = workspace.live(table, write.id)
    if (row === undefined) return Result.fail(noSuchRow(table))
    const conflict = refusedByGuard(write.guard, row.row)
    if (conflict !== undefined) return Result.fail(conflict)
    const data = yield* new Changer(write).apply(row.row, { at, named: true, pace: workspace.pace })
    if (Result.isFailure(data)) return Result.fail(data.failure)
    workspace.replace(row, data.success, "update", changedBy, now)
    return Result.succeed({ row: row.row, note: write.note })
  },
  print: ({ note, row }) => printRow(row, note),
  rowMember: memberOf
}
