import { Result } from "effect"
import type { RowKeys } from "../../../domain/keys/SortKey.ts"
import { admits, type Guard } from "../../../domain/Guard.ts"
import { JsonText, print } from "../../../domain/json/JsonText.ts"
import {
  EditConflict,
  FilterRequired,
  RowNotFound,
  withMembers,
  IdempotencyKeyReused,
  type InvalidRequest,
  type RequestTooLarge,
  type RowLimit,
  type RowTooLarge,
  type StorageLimit,
  type TableLimit
} from "../../../domain/Problem.ts"
import { parseMatching, type Filter, type Matching } from "../../../domain/Query.ts"
import { rowText, type Row } from "../../../domain/Row.ts"
import type { RowSize } from "../../../domain/RowInput.ts"
import type { Turns } from "../../../domain/Turns.ts"
import type { DeletedRow, IdOwner } from "../engine/FindHistory.ts"
import type { WantedUndo } from "../engine/FindUndoable.ts"
import type { KeptRecord } from "../engine/Evaluation.ts"
import type { Workspace, WorkRow } from "../engine/Workspace.ts"
import type { Forecast } from "../engine/WriteRoom.ts"
import type { Undoable } from "./Restore.ts"

/** The version that a restore names, and the row's latest numbers. */
export interface Restorable {
  readonly row: WorkRow
  readonly versions: ReadonlyMap<number, JsonText>
}

/** What operations act on: the loaded part of the account, who changes it and when, and what was loaded for them. */
export interface WriteContext {
  readonly workspace: Workspace
  readonly table: string
  readonly changedBy: string
  /** The number that the write gets if it changes anything; undefined in a dry run. */
  readonly change: number | undefined
  readonly now: number
  readonly newId: () => string
  readonly versionsPerRow: number
  readonly versionDays: number
  readonly restorable: (id: string) => Restorable | undefined
  /** All rows that have, or had, this id, which must be one of `ids`. */
  readonly idOwners: (id: string) => ReadonlyArray<IdOwner>
  /** The rows of the write that `undoes` names. */
  readonly undoable: ReadonlyArray<Undoable>
  /** The deleted rows that `forgets` may mean. */
  readonly deleted: ReadonlyArray<DeletedRow>
  /** The kept response to an add with this key. */
  readonly addRecord: (key: string) => KeptRecord | undefined
  readonly saveAddRecord: (key: string, requestHash: string, body: JsonText) => void
  readonly hash: (text: string) => string
  /**
   * Counts a row's bytes that the request has built, in place of `before`. Gives the refusal as soon as the request can no
   * longer fit, so that an update of many rows stops there; it names the member that made the row too large.
   */
  readonly count: (
    bytes: number,
    before: number,
    member: RowMember
  ) => RequestTooLarge | RowTooLarge | StorageLimit | undefined
}

/** What every operation can be refused for, by its own checks or by the engine's. */
export type CommonFailure =
  | IdempotencyKeyReused
  | InvalidRequest
  | RequestTooLarge
  | RowLimit
  | RowTooLarge
  | StorageLimit
  | TableLimit

/** How an operation names the rows that it may change. */
export type Selects = { readonly id: string } | { readonly filter: Filter }

/** The rows of a table to find, as the database is queried for them. */
export interface Selector {
  readonly table: string
  readonly id: string | undefined
  readonly createdAt: number | undefined
  readonly updatedAt: number | undefined
  readonly fields: RowKeys
  /** What else a filter asks of the rows: all that are found are looked at again. */
  readonly text: string
  readonly words: ReadonlyArray<string>
}

/** A member that makes a row what it becomes, as a JSON Pointer in its operation. */
export type RowMember = "" | "/row" | "/patch" | "/edits"

/**
 * One kind of write, and all that the engine knows of it: how it is read from a request (`Sent`), what is left once it was
 * checked (`Checked`), what it results in (`Outcome`), and its failures beside {@link CommonFailure}.
 */
export interface OperationKind<Sent, Checked, Outcome, Failure = never> {
  /** Whether it can add rows, so that it is refused in tables that the actor can't see. */
  readonly addsRows?: true
  /** The member whose text may be as long as the longest stored row, where the limit was lowered since. */
  readonly fields?: (sent: Sent) => JsonText | undefined
  /** Checks what can be checked without the account's rows. `at` is the operation's JSON Pointer in the request. */
  readonly check: (sent: Sent, size: RowSize, at: string) => Result.Result<Checked, CommonFailure | Failure>
  /** Its members in one order and form, whichever way it arrived: a repeat of an idempotency key is compared by this. */
  readonly canonical: (sent: Sent) => object
  /** The rows to load before it is applied. */
  readonly selects?: (write: Checked) => Selects
  /** The archived version to load. */
  readonly version?: (write: Checked) => { readonly id: string; readonly version: number }
  /** The ids whose owners are to be loaded. Such an operation forms a group alone. */
  readonly ids?: (write: Checked) => ReadonlyArray<string>
  /** The write whose rows are to be loaded. Such an operation forms a group alone. */
  readonly undoes?: (write: Checked) => WantedUndo
  /** Which deleted rows of its table are to be loaded. Such an operation forms a group alone. */
  readonly forgets?: (write: Checked) => Filter | undefined
  /** The tables that it changes, where they are not the request's one. */
  readonly tables?: (write: Checked, context: Pick<WriteContext, "undoable">) => ReadonlyArray<string>
  /** Its own idempotency key, beside the request's. */
  readonly ownKey?: (write: Checked) => string | undefined
  /** Adds what it may do to rows that later updates of its group find. */
  readonly forecast?: (write: Checked, forecast: Forecast) => void
  /**
   * Carries it out, in turns where it may take long. After a failure the workspace may be half changed: the caller undoes
   * that, and checks the limits.
   */
  readonly apply: (
    write: Checked,
    context: WriteContext,
    at: string
  ) => Result.Result<Outcome, CommonFailure | Failure> | Turns<Result.Result<Outcome, CommonFailure | Failure>>
  readonly print: (outcome: Outcome) => JsonText
  /** The member to name when the row is too large; none without this. */
  readonly rowMember?: (write: Checked) => RowMember
}

export const newRow = (data: JsonText, { newId, now }: WriteContext): Row => ({
  id: newId(),
  createdAt: now,
  updatedAt: now,
  data
})

/** The response body of operations on one row. */
export const printRow = (row: Row, note?: string): JsonText =>
  JsonText.trusted(`{"row":${rowText(row).text}${noteMember(note)}}`)

/** The last member of a response that has something to point out. */
export const noteMember = (note: string | undefined): string => (note === undefined ? "" : `,"note":${print(note)}`)

/** The refusal of a write to a row that its guard does not let through; undefined stands for no row. */
export const refusedByGuard = (guard: Guard | undefined, row: Row | undefined): EditConflict | undefined => {
  if (guard === undefined || admits(guard, row)) return undefined
  if (row === undefined) return new EditConflict({ detail: "There is no such row, or no longer.", current: null })
  const detail = guard === "absent" ? "There is such a row already." : "The row was changed after it was read."
  return new EditConflict({ detail, current: rowText(row) })
}

/** The refusal of a write to several rows, where its guard does not let it through to all of them. */
export const refusedByAny = (guard: Guard | undefined, rows: ReadonlyArray<WorkRow>): EditConflict | undefined => {
  if (guard === undefined) return undefined
  const refused = rows.filter(({ row }) => !admits(guard, row))
  const conflict = refused[0] && refusedByGuard(guard, refused[0].row)
  if (conflict === undefined || rows.length === 1) return conflict
  const detail = `${refused.length} of the ${rows.length} rows that match were changed after they were read; \`current\` is one of them.`
  return withMembers(conflict, { detail })
}

/** The refusal of an id that no live row has. */
export const noSuchRow = (table: string): RowNotFound =>
  new RowNotFound({ detail: `The table ${table} has no row with this id.` })

/** The refusal of a repeated request whose answer is no longer there. */
export const forgottenAnswer = () =>
  new IdempotencyKeyReused({
    detail: "The request was carried out; its answer was removed when rows of the table were deleted for good.",
    hint: "Query the table for what is there now, and use a new key for a new request."
  })

/**
 * A filter that names at least one field, or one beside a search, for operations that never act on all rows by accident.
 * `at` is the operation's JSON Pointer.
 */
export const requiredFilter = (asked: Matching, at: string): Result.Result<Filter, FilterRequired | InvalidRequest> =>
  Result.flatMap(parseMatching(asked, `${at}/`), (filter): Result.Result<Filter, FilterRequired> => {
    if (filter !== undefined) return Result.succeed(filter)
    const errors = [{ path: `${at}/filter`, message: "must name at least one field" }]
    return Result.fail(new FilterRequired({ detail: "An empty filter would act on every row.", errors }))
  })
