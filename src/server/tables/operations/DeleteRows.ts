import { Result } from "effect"
import { admits, guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import { noFields, type Filter } from "../../../domain/Query.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { FilterRequired, invalid, type EditConflict, type InvalidRequest } from "../../../domain/Problem.ts"
import { timeText } from "../../../domain/Row.ts"
import { refusedByAny, requiredFilter, type OperationKind } from "./OperationKind.ts"
import { namesIn } from "../engine/Workspace.ts"

/** A removal of the rows that match a filter and have the words of a search, or of all of a table. */
export interface SentDelete extends Guarded {
  readonly action: "delete"
  /** At least one field, but beside a search; absent with `all`. */
  readonly filter?: JsonText | undefined
  readonly search?: string | undefined
  readonly all?: boolean | undefined
  /** The rows go with all their versions, and deleted rows that match as they last were go too. Otherwise they are archived. */
  readonly forever?: boolean | undefined
}

export interface Delete {
  readonly action: "delete"
  readonly filter: Filter
  readonly isForever: boolean
  readonly guard: Guard | undefined
}

/** What a delete did, or would do. */
export interface Deleted {
  readonly deleted: number
  /** How many rows are gone for good, those included that had been deleted before; undefined where rows are archived. */
  readonly forgotten: number | undefined
  /** Of the rows that are removed. */
  readonly ids: ReadonlyArray<string>
  /** Until when the rows can be restored, in milliseconds. */
  readonly restorableUntil: number
  /** In a batch only the number is told. */
  readonly isBrief: boolean
}

/** How many ids one answer tells; the log of changes has them all. */
const maxIds = 500

/** Which rows a delete means. */
export const chosenBy = (
  { all, filter, search }: Pick<SentDelete, "all" | "filter" | "search">,
  at: string
): Result.Result<Filter, FilterRequired | InvalidRequest> => {
  const isNarrowed = filter !== undefined || search !== undefined
  if (all === true) {
    if (!isNarrowed) return Result.succeed(noFields)
    return Result.fail(invalid(`${at}/all`, "means every row, so it is not taken with a filter or a search"))
  }
  if (isNarrowed) return requiredFilter({ filter, search }, at)
  const detail = "/filter is required, or all: true for every row of the table."
  return Result.fail(new FilterRequired({ detail, errors: [{ path: `${at}/filter`, message: "is required" }] }))
}

export const deleteRows: OperationKind<SentDelete, Delete, Deleted, EditConflict | FilterRequired> = {
  check: (sent, _size, at) =>
    Result.flatMap(chosenBy(sent, at), (filter) =>
      Result.map(guardOf(sent, at), (guard) => ({ action: "delete", filter, isForever: sent.forever === true, guard }))
    ),
  canonical: ({ action, all, filter, forever, ifMatch, ifUpdatedAt, search }) => ({
    action,
    filter,
    ...(all === true && { all }),
    ...(forever === true && { forever }),
    ifUpdatedAt,
    ifMatch,
    search
  }),
  selects: ({ filter }) => ({ filter }),
  forgets: ({ filter, isForever }) => (isForever ? filter : undefined),
  *apply({ filter, guard, isForever }, context, at) {
    const { changedBy, now, table, workspace } = context
    const matches = yield* workspace.find(table, filter)
    const refused = refusedByAny(guard, matches)
    if (refused !== undefined) return Result.fail(refused)
    const removed = matches.map(({ place }) => place.id)
    if (isForever) {
      for (const row of matches) workspace.forget(row)
      for (const { last, row } of context.deleted) {
        if (!last.matches(filter, namesIn(filter), workspace.pace)) continue
        if (guard !== undefined && !admits(guard, last.row)) continue
        workspace.load(row)
        workspace.forget(row)
        removed.push(row.place.id)
        if (workspace.pace.isDue) yield* workspace.pace.pause()
      }
    } else for (const row of matches) workspace.replace(row, undefined, "delete", changedBy, now)
    return Result.succeed({
      deleted: matches.length,
      forgotten: isForever ? removed.length : undefined,
      ids: removed,
      restorableUntil: now + context.versionDays * 86_400_000,
      isBrief: at !== ""
    })
  },
  print: ({ deleted, forgotten, ids, isBrief, restorableUntil }) => {
    const counts = `"deleted":${deleted}${forgotten === undefined ? "" : `,"forgotten":${forgotten}`}`
    if (isBrief || ids.length === 0) return JsonText.trusted(`{${counts}}`)
    const shown = `"ids":${JSON.stringify(ids.slice(0, maxIds))}${ids.length > maxIds ? ',"has_more":true' : ""}`
    const until = forgotten === undefined ? `"${timeText(restorableUntil)}"` : "null"
    return JsonText.trusted(`{${counts},${shown},"restorable_until":${until}}`)
  }
}
