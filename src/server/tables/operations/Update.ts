import { Result } from "effect"
import {
  type EditConflict,
  type ReservedField,
  RowNotFound,
  MultipleMatches,
  type FilterRequired
} from "../../../domain/Problem.ts"
import type { JsonProblem } from "../../../domain/ExactJson.ts"
import { type Row, rowParts } from "../../../domain/Row.ts"
import {
  noSuchRow,
  printRow,
  refusedByGuard,
  type OperationKind,
  noteMember,
  refusedByAny,
  requiredFilter
} from "./OperationKind.ts"
import {
  canonicalChanges,
  Changer,
  checkChanges,
  growthOf,
  memberOf,
  type RowChanges,
  type SentChanges
} from "./RowChanges.ts"
import type { Filter } from "../../../domain/Query.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"

/** Changes of the row with this id; the id is any text. */
export interface UpdateRow {
  readonly action: "update_row"
  readonly id: string
}

export const updateRow: OperationKind<
  UpdateRow & SentChanges,
  UpdateRow & RowChanges,
  { readonly row: Row; readonly note: string | undefined },
  EditConflict | JsonProblem | ReservedField | RowNotFound
> = {
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

/** Changes of the one row that matches a filter and has the words of a search, or of each that does. */
export interface SentUpdateWhere extends SentChanges {
  readonly action: "update_where"
  readonly filter: JsonText
  readonly search?: string | undefined
  readonly allowMultiple?: boolean
}

export interface UpdateWhere extends RowChanges {
  readonly action: "update_where"
  readonly filter: Filter
  readonly allowMultiple: boolean
}

export const updateWhere: OperationKind<
  SentUpdateWhere,
  UpdateWhere,
  { readonly rows: ReadonlyArray<Row>; readonly note: string | undefined },
  EditConflict | FilterRequired | JsonProblem | MultipleMatches | ReservedField | RowNotFound
> = {
  fields: ({ patch }) => patch,
  check: (sent, size, at) =>
    Result.flatMap(requiredFilter(sent, at), (filter) =>
      Result.map(checkChanges(sent, size, at), (changes) => ({
        action: sent.action,
        filter,
        allowMultiple: sent.allowMultiple ?? false,
        ...changes
      }))
    ),
  canonical: ({ action, allowMultiple = false, filter, search, ...changes }) => {
    const { patch, ...others } = canonicalChanges(changes)
    return { action, filter, patch, allowMultiple, ...others, search }
  },
  selects: ({ filter }) => ({ filter }),
  forecast: (write, forecast) => forecast.patchWhere(write.filter, ...growthOf(write)),
  *apply(write, { changedBy, count, now, table, workspace }, at) {
    const matches = yield* workspace.find(table, write.filter)
    if (matches.length === 0 && !write.allowMultiple) {
      return Result.fail(new RowNotFound({ detail: `No row of the table ${table} matches the filter.` }))
    }
    if (matches.length > 1 && !write.allowMultiple) {
      const detail = `${matches.length} rows match, and allowMultiple is not true.`
      return Result.fail(new MultipleMatches({ detail, matches: matches.length }))
    }
    const conflict = refusedByAny(write.guard, matches)
    if (conflict !== undefined) return Result.fail(conflict)
    const changer = new Changer(write)
    for (const row of matches) {
      const before = row.content!.data
      const data = yield* changer.apply(row.row, { at, named: false, pace: workspace.pace })
      if (Result.isFailure(data)) return Result.fail(data.failure)
      workspace.replace(row, data.success, "update", changedBy, now)
      const refused = count(data.success.bytes, before.bytes, memberOf(write))
      if (refused !== undefined) return Result.fail(refused)
    }
    return Result.succeed({ rows: matches.map(({ row }) => row), note: write.note })
  },
  print: ({ note, rows }) =>
    JsonText.joined([`{"updated":${rows.length},"rows":[`, ...rowParts(rows), `]${noteMember(note)}}`]),
  rowMember: memberOf
}
