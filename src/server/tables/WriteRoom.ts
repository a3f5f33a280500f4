import { Effect, type Scope } from "effect"
import type { Limits } from "../../domain/Limits.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { noRoom } from "../capacity/Capacity.ts"
import type { Room } from "../capacity/Room.ts"
import type { Selector } from "./ApplyWrite.ts"
import { maxAnswerLength, type WriteRequest } from "./EvaluateWrites.ts"
import type { AccountState } from "./Workspace.ts"
import type { WritesRepo } from "./WritesRepo.ts"

const mebibyte = 1_048_576

const busy = noRoom({
  account: "This account changes too many large rows at once. Choose fewer rows in each filter.",
  service: "The service changes as many large rows as it can at the moment."
})

/**
 * Bounds the memory of writes that select rows by their fields: few bytes of a request may stand for all that an account
 * holds. Whoever selects a mebibyte or more waits for room, with what the updates make of it anew.
 */
export const makeWriteRoom = (repo: Pick<WritesRepo["Service"], "bytes">, workspaces: Room, limits: Limits) =>
  /** Makes room until the scope closes; `known` is the account where it is remembered. */
  Effect.fnUntraced(function* (
    accountId: string,
    requests: ReadonlyArray<WriteRequest>,
    selectors: ReadonlyArray<Selector>,
    known: AccountState | undefined
  ): Effect.fn.Return<void, Unavailable, Scope.Scope> {
    const byField = selectors.filter(({ id }) => id === undefined)
    if (byField.length === 0 || (known !== undefined && known.storageBytes < mebibyte)) return
    const loaded = yield* repo.bytes(accountId, byField)
    if (loaded < mebibyte) return
    const updates = requests.flatMap(({ writes }) => writes.filter(({ action }) => action === "update_where"))
    const built = Math.min(loaded * updates.length, maxAnswerLength(limits))
    yield* Effect.mapError(workspaces.take(accountId, loaded + built), busy)
  })
