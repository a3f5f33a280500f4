import { Result } from "effect"
import { AccountId } from "../../src/domain/Account.ts"
import type { WriteRequest } from "../../src/server/tables/engine/Evaluation.ts"
import { kindOf, type Sent, type Write } from "../../src/server/tables/operations/Operations.ts"

/** An operation that is checked for rows of at most so many bytes. */
export const checked = (sent: Sent, rowBytes: number): Write =>
  Result.getOrThrow(kindOf(sent).check(sent, { limit: rowBytes, longest: rowBytes }, ""))

/** A batch of the table `t`. */
export const batchOf = (writes: ReadonlyArray<Write>): WriteRequest => ({
  accountId: AccountId.make(""),
  table: "t",
  operation: "batch",
  writes,
  isBatch: true,
  isDryRun: false,
  changedBy: "{}",
  now: 0,
  incarnation: 0,
  idempotency: undefined,
  bytes: 0
})
