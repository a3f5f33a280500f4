import { Result } from "effect"
import { guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import { VersionNotFound, type EditConflict, ChangedSince, ChangeNotFound } from "../../../domain/Problem.ts"
import type { Row } from "../../../domain/Row.ts"
import { printRow, refusedByGuard, type OperationKind } from "./OperationKind.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import type { WorkRow } from "../engine/Workspace.ts"

/** An archived version of a row that becomes its content again, also where the row was deleted. */
export interface Restore {
  readonly action: "restore"
  readonly id: string
  readonly version: number
}

export const restoreVersion: OperationKind<
  Restore & Guarded,
  Restore & { readonly guard: Guard | undefined },
  Row,
  EditConflict | VersionNotFound
> = {
  check: (sent, _size, at) =>
    Result.map(guardOf(sent, at), (guard) => ({ action: sent.action, id: sent.id, version: sent.version, guard })),
  canonical: ({ action, id, ifMatch, ifUpdatedAt, version }) => ({ action, id, version, ifUpdatedAt, ifMatch }),
  selects: ({ id }) => ({ id }),
  version: ({ id, version }) => ({ id, version }),
  forecast: (_, forecast) => forecast.bring(),
  apply({ guard, id, version }, context) {
    const { changedBy, now, table, versionsPerRow, workspace } = context
    const restorable = context.restorable(id)
    const row = workspace.rows.get(id) ?? restorable?.row
    const archivedNow = workspace.archived.find((one) => one.place.id === id && one.version === version)
    const data = archivedNow?.content.data ?? restorable?.versions.get(version)
    const isRetained = row !== undefined && row.place.table === table && version > row.lastVersion - versionsPerRow
    if (!isRetained || data === undefined) {
      return Result.fail(new VersionNotFound({ detail: "The row has no such version, or it is no longer kept." }))
    }
    const conflict = refusedByGuard(guard, workspace.live(table, id)?.row)
    if (conflict !== undefined) return Result.fail(conflict)
    workspace.load(row)
    workspace.replace(row, data, "restore", changedBy, now)
    return Result.succeed(row.row)
  },
  print: (row) => printRow(row)
}

/** A write that is taken back as a whole: by all of its rows in these tables, which are all that the caller can see. */
export interface Undo {
  readonly action: "undo"
  readonly change: number
  readonly tables: ReadonlyArray<string> | null
}

/** What a write did to one row, and the row now: live, or as its last version says. */
export interface Undoable {
  readonly table: string
  readonly id: string
  /** Undefined where neither the row nor a version of it is left. */
  readonly row: WorkRow | undefined
  /** The write that the row's last change belongs to; null where that is not known. */
  readonly lastChange: number | null
  readonly isDelete: boolean
  /** The row's content before the write: null where it had none, undefined where that is no longer kept. */
  readonly before: JsonText | null | undefined
}

/** What an undo did, or would do. */
export interface Undone {
  readonly undone: number
  readonly change: number | undefined
  readonly rows: ReadonlyArray<{
    readonly table: string
    readonly id: string
    readonly operation: "delete" | "restore"
  }>
}

const maxNamed = 100

const changedSince = (rows: ReadonlyArray<Undoable>) =>
  new ChangedSince({
    detail: `${rows.length === 1 ? "A row of this change has" : `${rows.length} rows of this change have`} changed since, so it can't be undone as a whole.`,
    rows: rows.slice(0, maxNamed).map(({ id, table }) => ({ table, id })),
    matches: rows.length
  })

const isChangedSince = ({ isDelete, lastChange, row }: Undoable, change: number): boolean =>
  row === undefined ? !isDelete : (row.content !== undefined) === isDelete || lastChange !== change

export const undo: OperationKind<Undo, Undo, Undone, ChangedSince | ChangeNotFound | VersionNotFound> = {
  check: (sent) => Result.succeed(sent),
  canonical: ({ action, change }) => ({ action, change }),
  undoes: ({ change, tables }) => ({ change, tables }),
  tables: (_, { undoable }) => [...new Set(undoable.map(({ table }) => table))],
  *apply(write, context) {
    const { changedBy, now, undoable, workspace } = context
    if (undoable.length === 0) {
      return Result.fail(new ChangeNotFound({ detail: `There is no change ${write.change}, or it is no longer kept.` }))
    }
    const changed = undoable.filter((one) => isChangedSince(one, write.change))
    if (changed.length > 0) return Result.fail(changedSince(changed))
    const rows: Array<Undone["rows"][number]> = []
    for (const { before, id, isDelete, row, table } of undoable) {
      if (before === undefined) {
        const detail = `What row ${id} of the table ${table} was before the change is no longer kept.`
        return Result.fail(new VersionNotFound({ detail }))
      }
      // Added and deleted by the same write.
      if (row === undefined || (before === null && isDelete)) continue
      const operation = before === null ? "delete" : "restore"
      workspace.load(row)
      workspace.replace(row, before ?? undefined, operation, changedBy, now)
      rows.push({ table, id, operation })
      yield* workspace.pace.worked(before?.text.length ?? 0)
    }
    return Result.succeed({ undone: write.change, change: rows.length === 0 ? undefined : context.change, rows })
  },
  print: ({ change, rows, undone }) =>
    JsonText.joined([
      `{"undone":${undone}${change === undefined ? "" : `,"change":${change}`},"rows":[`,
      rows.map(({ id, operation, table }) => `{"table":"${table}","operation":"${operation}","row_id":"${id}"}`).join(),
      "]}"
    ])
}
