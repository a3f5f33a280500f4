import type { WorkRow } from "../../Workspace.ts"
import type { CachedRow, TableChange } from "./CachedTable.ts"

/** What a commit of these rows does to each of their tables. */
export const tableChanges = (touched: ReadonlyArray<WorkRow>): ReadonlyMap<string, TableChange> => {
  const changes = new Map<string, { readonly stored: Array<CachedRow>; readonly removed: Array<string> }>()
  for (const { content, lastVersion, place } of touched) {
    const { createdAt, id, seq, table } = place
    const change = changes.get(table) ?? { stored: [], removed: [] }
    changes.set(table, change)
    if (content === undefined) change.removed.push(id)
    else change.stored.push({ id, createdAt, ...content, seq, lastVersion })
  }
  return changes
}
