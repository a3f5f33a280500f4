import { Result } from "effect"
import { hash } from "node:crypto"
import type { AccountId } from "../../../domain/Account.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import type { Limits } from "../../../domain/Limits.ts"
import {
  IdempotencyKeyReused,
  invalid,
  RequestTooLarge,
  RowLimit,
  StorageLimit,
  TableLimit,
  withMembers
} from "../../../domain/Problem.ts"
import { tooLarge } from "../../../domain/RowInput.ts"
import type { DeletedRow, IdOwner } from "./FindHistory.ts"
import { forgottenAnswer, type Restorable, type WriteContext } from "../operations/OperationKind.ts"
import { kindOf, type Action, type OperationFailure, type Write } from "../operations/Operations.ts"
import type { Undoable } from "../operations/Restore.ts"
import type { Turns } from "../../../domain/Turns.ts"
import type { Workspace } from "./Workspace.ts"

/** One caller's write or batch, checked as far as it can be without the account's rows. */
export interface WriteRequest {
  readonly accountId: AccountId
  /** Empty for a write to several tables. */
  readonly table: string
  /** `add`, `upsert`, …, `batch` or `import`; with the table it is the scope of an idempotency key. */
  readonly operation: string
  readonly writes: ReadonlyArray<Write>
  /** A batch results in all results, and its failures name the operation. */
  readonly isBatch: boolean
  /** The result is what the write would do, and nothing is changed. */
  readonly isDryRun: boolean
  readonly changedBy: string
  /** The database's clock when the request was admitted, in milliseconds. */
  readonly now: number
  /** When the database's server that admitted it was started. */
  readonly incarnation: number
  readonly idempotency: { readonly key: string; readonly requestHash: string } | undefined
  readonly bytes: number
}

/** The body of a write's response; `replayed` when it is a kept one. `change` is its number, if it changed anything. */
export interface WriteResult {
  readonly body: JsonText
  readonly change: number | undefined
  readonly replayed: boolean
}

export type WriteFailure = OperationFailure<Action>

export type WriteOutcome = Result.Result<WriteResult, WriteFailure>

/** A response that is kept for repeats of its request: one per scope and key of an account. */
export interface IdempotencyRecord extends RecordKey {
  readonly requestHash: string
  readonly body: JsonText
  readonly change: number | null
  readonly createdAt: number
}

/** Such a response as it is read again: without a body once that may show rows that were deleted for good. */
export interface KeptRecord extends Omit<IdempotencyRecord, "body"> {
  readonly body: JsonText | undefined
}

/** What a request with an idempotency key is known by. */
export interface RecordKey {
  readonly scope: string
  readonly key: string
}

export const requestHash = (text: string): string => hash("sha256", text)

export const requestScope = (operation: string, table: string): string => `${operation}:${table}`

export interface Loaded {
  readonly records: ReadonlyMap<string, KeptRecord>
  readonly restorable: ReadonlyMap<string, Restorable>
  readonly idOwners: ReadonlyMap<string, ReadonlyArray<IdOwner>>
  readonly undoable: ReadonlyArray<Undoable>
  readonly deleted: ReadonlyArray<DeletedRow>
}

export const recordId = (scope: string, key: string): string => `${scope} ${key}`
export const restorableId = (table: string, id: string): string => `${table} ${id}`

/**
 * The most characters of a batch's response. Every content that a batch writes is in it, so this also bounds the versions
 * made within the batch: 100 updates of every row would be 100 times the storage limit.
 */
export const maxResponseLength = (limits: Limits): number => 2 * limits.storageBytes + 1_048_576

/**
 * How many characters the filters of a batch may go through; a filter alone may have to go through the whole account several
 * times, as for many texts that its fields contain.
 */
const maxLooked = (limits: Limits, storageBytes: number): number => 12 * Math.max(limits.storageBytes, storageBytes)

const responseTooLarge = (limit: number) =>
  new RequestTooLarge({
    detail: `The results up to this operation have more than ${limit} characters, the limit of one batch.`,
    hint: "Split the batch here, or choose fewer rows in each filter.",
    limit
  })

/** Evaluates one request after another in a workspace, in turns; what a refused request changed is undone. */
export class Evaluation {
  /** The new records of the requests, in their order, by {@link recordId}. */
  readonly newRecords = new Map<string, IdempotencyRecord>()
  private readonly workspace: Workspace
  private readonly loaded: Loaded
  private readonly limits: Limits
  private readonly newId: () => string

  constructor(workspace: Workspace, loaded: Loaded, limits: Limits, newId: () => string) {
    this.workspace = workspace
    this.loaded = loaded
    this.limits = limits
    this.newId = newId
  }

  *evaluate(request: WriteRequest): Turns<WriteOutcome> {
    const { operation, table } = request
    const idempotency = request.isDryRun ? undefined : request.idempotency
    const scope = requestScope(operation, table)
    const record = idempotency && this.record(scope, idempotency.key, request.now)
    if (record !== undefined) {
      if (record.requestHash !== idempotency?.requestHash) {
        return Result.fail(new IdempotencyKeyReused({ detail: "This idempotency key was used for another request." }))
      }
      if (record.body === undefined) return Result.fail(forgottenAnswer())
      return Result.succeed({ body: record.body, change: record.change ?? undefined, replayed: true })
    }
    const mark = this.workspace.mark()
    const changes = this.workspace.changes.length
    const records = this.newRecords.size
    const outcome = yield* this.apply(request)
    if (Result.isFailure(outcome) || request.isDryRun) {
      this.undo(mark, records)
      return Result.map(outcome, (body) => ({ body, change: undefined, replayed: false }))
    }
    const change = this.workspace.log(changes, request.now, request.changedBy)
    // An add with its own key has its record already, also when the request has the same key.
    if (idempotency !== undefined && this.record(scope, idempotency.key, request.now) === undefined) {
      this.keep({ scope, ...idempotency, body: outcome.success, change: change ?? null, createdAt: request.now })
    }
    return Result.succeed({ body: outcome.success, change, replayed: false })
  }

  private keep(record: IdempotencyRecord): void {
    this.newRecords.set(recordId(record.scope, record.key), record)
  }

  private undo(mark: number, records: number): void {
    this.workspace.undo(mark)
    if (this.newRecords.size === records) return
    for (const id of [...this.newRecords.keys()].slice(records)) this.newRecords.delete(id)
  }

  private record(scope: string, key: string, now: number): KeptRecord | undefined {
    const id = recordId(scope, key)
    const record = this.newRecords.get(id) ?? this.loaded.records.get(id)
    if (record === undefined || record.createdAt <= now - this.limits.idempotencyHours * 3_600_000) return undefined
    return record
  }

  private *apply(request: WriteRequest): Turns<Result.Result<JsonText, WriteFailure>> {
    const { changedBy, isBatch, now, table, writes } = request
    const { limits, loaded, newId, workspace } = this
    const addScope = requestScope("add", table)
    const mostResponse = maxResponseLength(limits)
    // Above a lowered limit, a request may still rewrite all that is stored.
    const mostBuilt = Math.max(mostResponse, workspace.storageBytes)
    const storage = workspace.storageBytes
    let built = 0
    const context: WriteContext = {
      workspace,
      table,
      changedBy,
      change: request.isDryRun ? undefined : workspace.nextChange,
      now,
      newId,
      versionsPerRow: limits.versionsPerRow,
      versionDays: limits.versionDays,
      restorable: (id) => loaded.restorable.get(restorableId(table, id)),
      idOwners: (id) => loaded.idOwners.get(id) ?? [],
      undoable: loaded.undoable,
      deleted: loaded.deleted,
      hash: requestHash,
      addRecord: (key) => this.record(addScope, key, now),
      saveAddRecord: (key, requestHash, body) =>
        this.keep({ scope: addScope, key, requestHash, body, change: workspace.nextChange, createdAt: now }),
      count: (bytes, before, member) => {
        // What comes later in a batch may make the row shorter again.
        if (!isBatch && this.outgrows(bytes, before)) return tooLarge(bytes, limits.rowBytes, member)
        built += bytes
        if (built <= mostBuilt) return undefined
        return isBatch ? responseTooLarge(mostResponse) : this.storageLimit(storage)
      }
    }
    const names = writes.flatMap((write) => kindOf(write).tables?.(write, loaded) ?? [])
    const before = {
      storage,
      rows: new Map([table, ...names].map((name) => [name, workspace.rowCount(name)])),
      tables: workspace.tables
    }
    const sizes = new Map<string, { readonly before: number; index: number }>()
    const results: Array<string> = []
    let body: JsonText | undefined
    const looked = workspace.looked
    let grownBy = 0
    let responseLength = 0
    for (const [index, write] of writes.entries()) {
      if (workspace.looked - looked > maxLooked(limits, storage)) {
        const message =
          "would search more text than one batch may; split the batch here, or let its filters name equal fields, too"
        return this.refuse(request, invalid(`/operations/${index}`, message), index)
      }
      const kind = kindOf(write)
      const changes = workspace.changes.length
      const [bytes, rows] = [workspace.storageBytes, workspace.rowCount(table)]
      const applied = kind.apply(write, context, isBatch ? `/operations/${index}` : "")
      const result = "next" in applied ? yield* applied : applied
      if (Result.isFailure(result)) return this.refuse(request, result.failure, index)
      for (const { before, row } of workspace.changes.slice(changes)) {
        const known = sizes.get(row.place.id)
        if (known === undefined) sizes.set(row.place.id, { before: before?.data.bytes ?? 0, index })
        else known.index = index
      }
      if (workspace.storageBytes > bytes || workspace.rowCount(table) > rows) grownBy = index
      body = kind.print(result.success)
      if (isBatch) {
        results.push(`${index === 0 ? "" : ","}{"index":${index},"action":"${write.action}","result":`)
        // There may be more of them than a call can have arguments.
        for (const part of body.parts) results.push(part)
        results.push("}")
      }
      responseLength += body.length
      if (index > 0 && responseLength > mostResponse) {
        return this.refuse(request, responseTooLarge(mostResponse), index)
      }
    }
    for (const [id, size] of sizes) {
      const bytes = workspace.rows.get(id)?.content?.data.bytes ?? 0
      if (this.outgrows(bytes, size.before)) {
        const write = writes[size.index]!
        const at = (isBatch ? `/operations/${size.index}` : "") + (kindOf(write).rowMember?.(write) ?? "")
        return this.refuse(request, tooLarge(bytes, limits.rowBytes, at), size.index)
      }
    }
    const full = this.overLimit(before)
    if (full !== undefined) return this.refuse(request, full, grownBy)
    return Result.succeed(isBatch ? JsonText.joined(['{"results":[', ...results, "]}"]) : body!)
  }

  /** Whether a row is over the limit; shrinking is always allowed. */
  private outgrows(bytes: number, before: number): boolean {
    return bytes > this.limits.rowBytes && bytes > before
  }

  private storageLimit(before: number): StorageLimit {
    const limit = this.limits.storageBytes
    const detail = `The storage limit is ${limit} bytes, and the account uses ${before}.`
    return new StorageLimit({ detail, limit, current: before })
  }

  /** The limit that the end state breaks; shrinking is always allowed. */
  private overLimit(before: { storage: number; rows: ReadonlyMap<string, number>; tables: number }) {
    const { limits, workspace } = this
    const { storageBytes, tables } = workspace
    if (tables > limits.tables && tables > before.tables) {
      const more = [...before.rows].flatMap(([table, rows]) =>
        rows === 0 && workspace.rowCount(table) > 0 ? [table] : []
      )
      const detail =
        more.length === 1
          ? `The limit is ${limits.tables} tables with rows, and ${more[0]} would be one more.`
          : `The limit is ${limits.tables} tables with rows. The account has ${before.tables}, and these would be ${more.length} more.`
      return new TableLimit({ detail, limit: limits.tables, current: before.tables })
    }
    for (const [table, had] of before.rows) {
      const rows = workspace.rowCount(table)
      if (rows > limits.rowsPerTable && rows > had) {
        const detail = `The limit is ${limits.rowsPerTable} rows in a table, and ${table} has ${had}.`
        return new RowLimit({ detail, limit: limits.rowsPerTable, current: had })
      }
    }
    const isFull = storageBytes > limits.storageBytes && storageBytes > before.storage
    return isFull ? this.storageLimit(before.storage) : undefined
  }

  private refuse(request: WriteRequest, failure: WriteFailure, index: number): Result.Result<never, WriteFailure> {
    return Result.fail(request.isBatch ? withMembers(failure, { operation: index }) : failure)
  }
}
