import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { transact } from "../sql/SqlFailure.ts"
import type { WorkRow } from "./Workspace.ts"
import type { Changes, WritesRepo } from "./WritesRepo.ts"

const sliceBytes = 1_048_576

const slicesOf = (rows: ReadonlyArray<WorkRow>): ReadonlyArray<ReadonlyArray<WorkRow>> => {
  const slices: Array<Array<WorkRow>> = []
  let bytes = sliceBytes
  for (const row of rows) {
    if (bytes >= sliceBytes) {
      slices.push([])
      bytes = 0
    }
    slices.at(-1)!.push(row)
    bytes += row.content?.data.bytes ?? 0
  }
  return slices
}

/**
 * Stores an import: the rows in slices of about a mebibyte, so that no single statement takes long or much memory, and all
 * of them in one transaction. The first slice brings everything else along and takes the account's lock; the revision has
 * grown by the number of slices then.
 */
export const makeCommitImport = (repo: WritesRepo["Service"], sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (accountId: string, changes: Changes, versionsPerRow: number, idempotencyHours: number) {
    const commit = (slice: Partial<Changes>) =>
      repo.commit(accountId, { ...changes, ...slice }, versionsPerRow, idempotencyHours)
    const [first = [], ...slices] = slicesOf(changes.touched)
    const committed = commit({ touched: first })
    if (slices.length === 0) return yield* committed
    const all = Effect.gen(function* () {
      const outcome = yield* committed
      if (outcome === "stale") return outcome
      for (const [index, touched] of slices.entries()) {
        const revision = changes.revision + 1 + index
        const more = yield* commit({ revision, touched, rowsByTable: new Map(), archived: [], records: [] })
        if (more === "stale") return yield* Effect.die(new Error("A locked account changed its revision"))
      }
      return outcome
    })
    return yield* transact(sql)(all)
  })
