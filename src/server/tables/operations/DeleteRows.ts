import { Result } from "effect"
import { guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import type { Filter } from "../../../domain/Query.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import type { EditConflict, FilterRequired } from "../../../domain/Problem.ts"
import { refusedByAny, requiredFilter, type OperationKind } from "./OperationKind.ts"

/** A removal of the rows that match a filter and have the words of a search, which are archived. */
export interface SentDelete extends Guarded {
  readonly action: "delete"
  readonly filter: JsonText
  readonly search?: string | undefined
}

export interface Delete {
  readonly action: "delete"
  readonly filter: Filter
  readonly guard: Guard | undefined
}

export const deleteRows: OperationKind<SentDelete, Delete, number, EditConflict | FilterRequired> = {
  addsRows: false,
  check: (sent, _size, at) =>
    Result.flatMap(requiredFilter(sent, at), (filter) =>
      Result.map(guardOf(sent, at), (guard) => ({ action: sent.action, filter, guard }))
    ),
  canonical: ({ action, filter, ifMatch, ifUpdatedAt, search }) => ({ action, filter, ifUpdatedAt, ifMatch, search }),
  selects: ({ filter }) => ({ filter }),
  *apply({ filter, guard }, { changedBy, now, table, workspace }) {
    const matches = yield* workspace.find(table, filter)
    const refused = refusedByAny(guard, matches)
    if (refused !== undefined) return Result.fail(refused)
    for (const row of matches) workspace.replace(row, undefined, "delete", changedBy, now)
    return Result.succeed(matches.length)
  },
  print: (deleted) => JsonText.trusted(`{"deleted":${deleted}}`),
  rowMember: () => ""
}
