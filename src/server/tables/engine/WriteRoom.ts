import { Data, Effect, type Scope } from "effect"
import type { AccountId } from "../../../domain/Account.ts"
import type { Limits } from "../../../domain/Limits.ts"
import type { Unavailable } from "../../../domain/Problem.ts"
import { stackless } from "../../../domain/ProblemKind.ts"
import { noRoom, noRoomForAnswer, type Capacity } from "../../capacity/Capacity.ts"
import type { Busy } from "../../capacity/Room.ts"
import { maxResponseLength, recordId, type WriteRequest } from "./Evaluation.ts"
import type { Found, SnapshotRepo } from "./SnapshotRepo.ts"
import { deletedOf, recordKeysOf, selectorKey, selectorsOf, undoOf, type Known } from "./Load.ts"
import type { Selector } from "../operations/OperationKind.ts"
import { kindOf } from "../operations/Operations.ts"
import { encodeText } from "../../../domain/keys/SortKey.ts"
import type { Filter } from "../../../domain/Query.ts"
import type { JsonText } from "../../../domain/json/JsonText.ts"

const mebibyte = 1_048_576
/** The most bytes of kept responses that are read together, unless one request has more. */
const maxKept = 8 * mebibyte

/** There was no room for a group of writes, or for its responses. A write alone is refused with `problem`. */
export class LacksRoom extends stackless(Data.TaggedError("LacksRoom"))<{ readonly problem: Unavailable }> {}

export const isLacking = (error: { readonly _tag: string }): error is LacksRoom => error._tag === "LacksRoom"

const busy = noRoom({
  account:
    "This account changes too many large rows, or repeats too many large requests, at once. Choose fewer rows in each filter.",
  service: "The service changes as many large rows as it can at the moment."
})

const nothing = { made: 0, amount: 0 }

const lacking = (failure: Busy) => new LacksRoom({ problem: busy(failure) })

/**
 * Bounds the memory of writes that select rows by their fields, and of repeated requests with their kept responses, since a
 * short request may read all of an account. Groups that read or build a mebibyte or more wait for room.
 */
export const makeWriteRoom = (
  repo: Pick<SnapshotRepo["Service"], "deletedBytes" | "recordBytes" | "sizes" | "undoableBytes">,
  { answers, workspaces }: Pick<Capacity["Service"], "answers" | "workspaces">,
  limits: Limits
) => {
  /** The first requests whose kept responses can be read together, and the bytes of those. */
  const withKept = Effect.fnUntraced(function* (accountId: AccountId, requests: ReadonlyArray<WriteRequest>) {
    const keys = recordKeysOf(requests)
    const found = keys.length === 0 ? [] : yield* repo.recordBytes(accountId, keys)
    if (found.length === 0) return { admitted: requests, kept: 0 }
    const bytes = new Map(found.map((one) => [recordId(one.scope, one.key), one.bytes]))
    const admitted: Array<WriteRequest> = []
    let kept = 0
    for (const request of requests) {
      const keys = recordKeysOf([request]).map(({ key, scope }) => recordId(scope, key))
      const own = keys.reduce((sum, key) => sum + (bytes.get(key) ?? 0), 0)
      if (admitted.length > 0 && kept + own > maxKept) break
      admitted.push(request)
      kept += own
    }
    return { admitted, kept }
  })

  /** The bytes of the rows that the requests select by their fields, with those that updates make of them, and of the latter. */
  const selectedBytes = Effect.fnUntraced(function* (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    known: Known | undefined
  ) {
    const byField = selectorsOf(requests).filter(({ id }) => id === undefined)
    if (byField.length === 0) return nothing
    const bytesOf = (storageBytes: number, found: (selector: Selector) => Found) => {
      const { bytes, rows } = sum(byField.map(found))
      const all = { rows, bytes: Math.min(storageBytes, bytes) }
      const most = Math.max(maxResponseLength(limits), storageBytes)
      const made = Math.min(madeBytes(requests, found, all, limits.rowBytes), most)
      return { made, amount: all.bytes + made }
    }
    if (known !== undefined) {
      // When even all rows would be little, what is found need not be counted.
      const { rowsByTable, storageBytes } = known.state
      const whole = ({ table }: Selector) => ({ rows: rowsByTable.get(table) ?? 0, bytes: storageBytes })
      if (bytesOf(storageBytes, whole).amount < mebibyte) return nothing
      if (known.cached !== undefined) return bytesOf(storageBytes, known.cached.found)
    }
    const { found, storageBytes } = yield* repo.sizes(accountId, byField)
    const sizes = new Map(byField.map((selector, index) => [selectorKey(selector), found[index]!]))
    return bytesOf(storageBytes, (selector) => sizes.get(selectorKey(selector))!)
  })

  /**
   * Reserves room until the scope closes, and gives the requests that fit in one group. With `known`, kept responses are not
   * read. Without patience it does not wait.
   */
  return Effect.fnUntraced(function* (
    accountId: AccountId,
    requests: ReadonlyArray<WriteRequest>,
    known: Known | undefined,
    isPatient: boolean
  ): Effect.fn.Return<ReadonlyArray<WriteRequest>, LacksRoom | Unavailable, Scope.Scope> {
    const { admitted, kept } =
      known === undefined ? yield* withKept(accountId, requests) : { admitted: requests, kept: 0 }
    const selected = yield* selectedBytes(accountId, admitted, known)
    const undo = undoOf(admitted)
    const undone = undo === undefined ? 0 : yield* repo.undoableBytes(accountId, undo)
    const forgotten = deletedOf(admitted)
    const looked = forgotten === undefined ? 0 : yield* repo.deletedBytes(accountId, forgotten)
    const amount = kept + selected.amount + undone + looked
    if (amount < mebibyte) return admitted
    // What is built becomes the response, so its room is checked before the work.
    const responseBytes = kept + selected.made
    const lacksForResponse = responseBytes < mebibyte ? undefined : answers.lacks(accountId, responseBytes)
    if (lacksForResponse !== undefined) return yield* new LacksRoom({ problem: noRoomForAnswer(lacksForResponse) })
    const lacks = isPatient ? undefined : workspaces.lacks(accountId, amount)
    if (lacks !== undefined) return yield* lacking(lacks)
    yield* Effect.mapError(workspaces.take(accountId, amount), lacking)
    return admitted
  })
}

/** The most bytes of rows that the updates of a group build. `found` is what one selects in the database, `all` their sum. */
export const madeBytes = (
  requests: ReadonlyArray<WriteRequest>,
  found: (selector: Selector) => Found,
  all: Found,
  rowBytes: number
): number => {
  const forecasts = new Map<string, Forecast>()
  for (const { table, writes } of requests) {
    const known = forecasts.get(table)
    const forecast = known ?? new Forecast(rowBytes, (filter) => found({ table, ...filter }), all)
    if (known === undefined) forecasts.set(table, forecast)
    forecast.begin()
    for (const write of writes) kindOf(write).forecast?.(write, forecast)
  }
  return forecasts.values().reduce((sum, { made }) => sum + made, 0)
}

const sum = (parts: ReadonlyArray<Found>): Found => ({
  rows: parts.reduce((rows, part) => rows + part.rows, 0),
  bytes: parts.reduce((bytes, part) => bytes + part.bytes, 0)
})

/**
 * What the writes of a group may do to a table before a later update of it, and the most bytes of rows that the updates build:
 * each from what its own filter finds, or from all that the group reads if an earlier write set a field of the filter.
 */
export class Forecast {
  made = 0
  private readonly rowBytes: number
  private readonly foundBy: (filter: Filter) => Found
  private readonly all: Found
  /** How much the patches of this request, and those before, may have lengthened any row. */
  private patched = 0
  private before = 0
  /** Rows with contents from the writes or the archive: any filter may find them. */
  private brought: Found = { rows: 0, bytes: 0 }
  /** The rows that were patched by their ids. */
  private named: Found = { rows: 0, bytes: 0 }
  private readonly names = new Set<string>()
  private readonly unread: Array<() => ReadonlyArray<string>> = []

  /** `rowBytes` is the limit, `foundBy` what a filter finds in the database, and `all` what the group reads there. */
  constructor(rowBytes: number, foundBy: (filter: Filter) => Found, all: Found) {
    this.rowBytes = rowBytes
    this.foundBy = foundBy
    this.all = all
  }

  /** A request begins: between requests no row is longer than a row may be. */
  begin(): void {
    this.before = Math.min(this.before + this.patched, this.rowBytes)
    this.patched = 0
  }

  /** A row gets this content, or one that is not known yet. */
  bring(fields?: JsonText): void {
    this.brought = sum([this.brought, { rows: 1, bytes: fields?.bytes ?? this.rowBytes }])
  }

  /** The row with an id is patched: it gets so many bytes more, and fields of these names are set. */
  patchRow(bytes: number, names: () => ReadonlyArray<string>): void {
    this.named = sum([this.named, { rows: 1, bytes: this.rowBytes }])
    this.patch(bytes, names)
  }

  /** The rows that match a filter are patched, as {@link patchRow} says. */
  patchWhere(filter: Filter, growth: number, names: () => ReadonlyArray<string>): void {
    if (filter.isImpossible) return
    if (filter.id !== undefined) return this.patchRow(growth, names)
    const found = this.mayMatch(filter) ? [this.all, this.named] : [this.foundBy(filter)]
    const { bytes, rows } = sum([...found, this.brought])
    this.patch(growth, names)
    this.made += bytes + rows * (this.before + this.patched)
  }

  private patch(bytes: number, names: () => ReadonlyArray<string>): void {
    this.patched += bytes
    this.unread.push(names)
  }

  /** Whether a patch set a field that the filter names. */
  private mayMatch(filter: Filter): boolean {
    const { conditions, fields, updatedAt } = filter
    for (const names of this.unread.splice(0)) for (const name of names()) this.names.add(encodeText(name))
    const hasGrown = this.before + this.patched > 0
    if (hasGrown && (updatedAt !== undefined || filter.words.length > 0)) return true
    if (hasGrown && conditions.some(({ name }) => name === "updated_at")) return true
    return [...fields.wanted.keys(), ...conditions.map(({ name }) => name)].some((name) => this.names.has(name))
  }
}
