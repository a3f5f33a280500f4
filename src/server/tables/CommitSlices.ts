import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { transact } from "../sql/SqlFailure.ts"
import type { Archived, WorkRow } from "./Workspace.ts"
import type { CommitOutcome, Commits } from "./engine/Commits.ts"
import type { Changes } from "./WritesRepo.ts"

const sliceBytes = 1_048_576

/**
 * The changes in slices of about a mebibyte of rows, each with the versions that its rows leave behind. The first brings
 * everything else along.
 */
export const slicesOf = (changes: Changes): ReadonlyArray<Changes> => {
  const versions = Map.groupBy(changes.archived, ({ place }) => place.id)
  const slices: Array<Changes> = []
  let touched: Array<WorkRow> = []
  let archived: Array<Archived> = []
  let bytes = 0
  const cut = () => {
    const later = { rowsByTable: new Map(), records: [], revision: changes.revision + slices.length }
    slices.push({ ...changes, ...(slices.length > 0 && later), touched, archived })
    touched = []
    archived = []
    bytes = 0
  }
  for (const row of changes.touched) {
    if (bytes >= sliceBytes) cut()
    const own = versions.get(row.place.id) ?? []
    touched.push(row)
    archived.push(...own)
    bytes += row.content?.data.bytes ?? 0
    for (const { content } of own) if (content !== row.stored) bytes += content.data.bytes
  }
  cut()
  return slices
}

/**
 * Stores changes slice by slice, so that no single statement takes long or much memory, and all of them in one transaction.
 * The first slice takes the account's lock; the revision has grown by the number of slices then.
 */
export const makeCommitSlices = (commits: Commits["Service"], sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (accountId: string, slices: ReadonlyArray<Changes>) {
    let outcome: CommitOutcome = "stale"
    for (const [index, slice] of slices.entries()) {
      outcome = yield* commits.alone(accountId, slice)
      if (outcome !== "stale") continue
      if (index === 0) break
      return yield* Effect.die(new Error("A locked account changed its revision"))
    }
    return outcome
  }, transact(sql))
