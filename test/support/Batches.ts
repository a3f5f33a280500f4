import type { Write } from "../../src/domain/Write.ts"
import type { WriteRequest } from "../../src/server/tables/EvaluateWrites.ts"

/** A batch of the table `t`. */
export const batchOf = (writes: ReadonlyArray<Write>): WriteRequest => ({
  accountId: "",
  table: "t",
  operation: "batch",
  writes,
  isBatch: true,
  isDryRun: false,
  changedBy: "{}",
  now: 0,
  idempotency: undefined,
  bytes: 0
})
