import { Result } from "effect"
import { guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import { VersionNotFound, type EditConflict } from "../../../domain/Problem.ts"
import type { Row } from "../../../domain/Row.ts"
import { printRow, refusedByGuard, type OperationKind } from "./OperationKind.ts"

/** An archived version of a row that becomes its content again, also where the row was deleted. */
export interface SentRestore extends Guarded {
  readonly action: "restore"
  readonly id: string
  readonly version: number
}

export interface Restore {
  readonly action: "restore"
  readonly id: string
  readonly version: number
  readonly guard: Guard | undefined
}

export const restoreVersion: OperationKind<SentRestore, Restore, Row, EditConflict | VersionNotFound> = {
  addsRows: false,
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
  print: (row) => printRow(row),
  rowMember: () => ""
}
