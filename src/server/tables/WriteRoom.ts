import { Data, Effect, type Scope } from "effect"
import type { Limits } from "../../domain/Limits.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { noRoom } from "../capacity/Capacity.ts"
import type { Busy, Room } from "../capacity/Room.ts"
import type { Selector } from "./ApplyWrite.ts"
import { maxAnswerLength, recordId, type WriteRequest } from "./EvaluateWrites.ts"
import type { Found } from "./FindRows.ts"
import { recordKeysOf, selectorKey, selectorsOf } from "./GroupReads.ts"
import { madeBytes } from "./MadeBytes.ts"
import type { AccountState } from "./Workspace.ts"
import type { WritesRepo } from "./WritesRepo.ts"

const mebibyte = 1_048_576
/** The kept answers that are read together; those of a single request may be more. */
const maxKept = 8 * mebibyte

/** There was no room for a group of writes, or for its answers: `problem` is what one that is alone is refused with. */
export class LacksRoom extends Data.TaggedError("LacksRoom")<{ readonly problem: Unavailable }> {}

export const isLacking = (error: Unavailable | LacksRoom): error is LacksRoom => error._tag === "LacksRoom"

const busy = noRoom({
  account:
    "This account changes too many large rows, or repeats too many large requests, at once. Choose fewer rows in each filter.",
  service: "The service changes as many large rows as it can at the moment."
})

const lacking = (failure: Busy) => new LacksRoom({ problem: busy(failure) })

/**
 * Bounds the memory of writes that select rows by their fields, and of repeated requests, whose answers are kept: few
 * bytes of a request may stand for all that an account holds. Whoever reads a mebibyte or more waits for room, with
 * what the updates make of it anew.
 */
export const makeWriteRoom = (
  repo: Pick<WritesRepo["Service"], "answerBytes" | "sizes">,
  workspaces: Room,
  limits: Limits
) => {
  /** The first requests, whose kept answers are not too many to be read together, and the bytes of those. */
  const withKept = Effect.fnUntraced(function* (accountId: string, requests: ReadonlyArray<WriteRequest>) {
    const keys = recordKeysOf(requests)
    const found = keys.length === 0 ? [] : yield* repo.answerBytes(accountId, keys)
    if (found.length === 0) return { admitted: requests, kept: 0 }
    const bytes = new Map(found.map((one) => [recordId(one.scope, one.key), one.bytes]))
    const admitted: Array<WriteRequest> = []
    let kept = 0
    for (const request of requests) {
      const own = recordKeysOf([request]).reduce(
        (sum, { key, scope }) => sum + (bytes.get(recordId(scope, key)) ?? 0),
        0
      )
      if (admitted.length > 0 && kept + own > maxKept) break
      admitted.push(request)
      kept += own
    }
    return { admitted, kept }
  })

  /** The bytes of the rows that the requests select by their fields, and of those that updates make of them. */
  const selectedBytes = Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    known: AccountState | undefined
  ) {
    const byField = selectorsOf(requests).filter(({ id }) => id === undefined)
    if (byField.length === 0) return 0
    const bytesOf = (storageBytes: number, found: (selector: Selector) => Found) => {
      const sizes = byField.map(found)
      const all = {
        rows: sizes.reduce((sum, { rows }) => sum + rows, 0),
        bytes: Math.min(
          storageBytes,
          sizes.reduce((sum, { bytes }) => sum + bytes, 0)
        )
      }
      const most = Math.max(maxAnswerLength(limits), storageBytes)
      return all.bytes + Math.min(madeBytes(requests, found, all, limits.rowBytes), most)
    }
    if (known !== undefined) {
      // Where all that there is would be little, nobody has to be asked how much of it is found.
      const { rowsByTable, storageBytes } = known
      const whole = ({ table }: Selector) => ({ rows: rowsByTable.get(table) ?? 0, bytes: storageBytes })
      if (bytesOf(storageBytes, whole) < mebibyte) return 0
    }
    const { found, storageBytes } = yield* repo.sizes(accountId, byField)
    const sizes = new Map(byField.map((selector, index) => [selectorKey(selector), found[index]!]))
    return bytesOf(storageBytes, (selector) => sizes.get(selectorKey(selector))!)
  })

  /**
   * Makes room until the scope closes, for the requests that it gives: those that fit in one group. `known` is the account
   * where it is remembered: kept answers are not read then. Who is not patient does not wait.
   */
  return Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    known: AccountState | undefined,
    isPatient: boolean
  ): Effect.fn.Return<ReadonlyArray<WriteRequest>, LacksRoom | Unavailable, Scope.Scope> {
    const { admitted, kept } =
      known === undefined ? yield* withKept(accountId, requests) : { admitted: requests, kept: 0 }
    const amount = kept + (yield* selectedBytes(accountId, admitted, known))
    if (amount < mebibyte) return admitted
    const lacks = isPatient ? undefined : workspaces.lacks(accountId, amount)
    if (lacks !== undefined) return yield* lacking(lacks)
    yield* Effect.mapError(workspaces.take(accountId, amount), lacking)
    return admitted
  })
}
