import { Result } from "effect"
import { createHash } from "node:crypto"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Limits } from "../../domain/Limits.ts"
import type { RowTooLarge } from "../../domain/Problem.ts"
import {
  IdempotencyKeyReused,
  IdempotencyKeyReused400,
  RowLimit,
  RowTooLarge400,
  StorageLimit,
  StorageLimit400,
  TableLimit
} from "../../domain/Problem.ts"
import { tooLarge, type Write } from "../../domain/Write.ts"
import { applyWrite, type ApplyProblem, type Restorable, type WriteContext } from "./ApplyWrite.ts"
import type { Workspace } from "./Workspace.ts"
import type { IdempotencyRecord } from "./WritesRepo.ts"

/** One caller's write or batch, checked as far as it can be without the account's rows. */
export interface WriteRequest {
  readonly accountId: string
  readonly table: string
  /** `add`, `upsert`, … or `batch`; with the table it is the scope of an idempotency key. */
  readonly operation: string
  readonly writes: ReadonlyArray<Write>
  /** A batch answers with all results, and its failures name the operation. */
  readonly isBatch: boolean
  readonly changedBy: string
  /** The database's clock when the request was admitted, in milliseconds. */
  readonly now: number
  readonly idempotency: { readonly key: string; readonly requestHash: string } | undefined
  readonly bytes: number
}

/** The body of a write's answer; `replayed` when an idempotency record gave it. */
export interface WriteAnswer {
  readonly body: JsonText
  readonly replayed: boolean
}

export type WriteFailure =
  | ApplyProblem
  | IdempotencyKeyReused400
  | RowLimit
  | RowTooLarge
  | RowTooLarge400
  | StorageLimit
  | StorageLimit400
  | TableLimit

export type WriteOutcome = Result.Result<WriteAnswer, WriteFailure>

export const requestHash = (text: string): string => createHash("sha256").update(text).digest("hex")

export const requestScope = (operation: string, table: string): string => `${operation}:${table}`

export interface Loaded {
  readonly records: ReadonlyMap<string, IdempotencyRecord>
  readonly restorable: ReadonlyMap<string, Restorable>
}

export const recordId = (scope: string, key: string): string => `${scope} ${key}`
export const restorableId = (table: string, id: string): string => `${table} ${id}`

/** Operations for which the specification declares 413 and 409; elsewhere the same failure is a 400. */
const declares413 = new Set(["add", "batch"])
const declares409 = new Set(["batch", "update_where"])

/** Evaluates one request after another in a workspace; what a refused request changed is undone. */
export class Evaluation {
  readonly newRecords: Array<IdempotencyRecord> = []
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

  evaluate(request: WriteRequest): WriteOutcome {
    const { idempotency, operation, table } = request
    const scope = requestScope(operation, table)
    if (idempotency !== undefined) {
      const record = this.record(scope, idempotency.key, request.now)
      if (record !== undefined) {
        if (record.requestHash === idempotency.requestHash) {
          return Result.succeed({ body: record.answer, replayed: true })
        }
        return Result.fail(this.keyReused(request, "This Idempotency-Key was used for another request."))
      }
    }
    const mark = this.workspace.mark()
    const records = this.newRecords.length
    const outcome = this.apply(request)
    if (Result.isFailure(outcome)) {
      this.workspace.undo(mark)
      this.newRecords.length = records
      return Result.fail(outcome.failure)
    }
    // An add with its own key has its record already: a caller that gives the same key twice gives it once.
    if (idempotency !== undefined && this.record(scope, idempotency.key, request.now) === undefined) {
      this.newRecords.push({ scope, ...idempotency, answer: outcome.success, createdAt: request.now })
    }
    return Result.succeed({ body: outcome.success, replayed: false })
  }

  private record(scope: string, key: string, now: number): IdempotencyRecord | undefined {
    const fresh = this.newRecords.find((record) => record.scope === scope && record.key === key)
    const record = fresh ?? this.loaded.records.get(recordId(scope, key))
    if (record === undefined || record.createdAt <= now - this.limits.idempotencyHours * 3_600_000) return undefined
    return record
  }

  private apply(request: WriteRequest): Result.Result<JsonText, WriteFailure> {
    const { changedBy, isBatch, now, table, writes } = request
    const { limits, loaded, newId, workspace } = this
    const addScope = requestScope("add", table)
    const context: WriteContext = {
      workspace,
      table,
      changedBy,
      now,
      newId,
      versionsPerRow: limits.versionsPerRow,
      restorable: (id) => loaded.restorable.get(restorableId(table, id)),
      hash: requestHash,
      addRecord: (key) => {
        const record = this.record(addScope, key, now)
        return record === undefined ? undefined : { rowHash: record.requestHash, answer: record.answer }
      },
      saveAddRecord: (key, row, answer) =>
        this.newRecords.push({ scope: addScope, key, requestHash: requestHash(row.text), answer, createdAt: now })
    }
    const before = { storage: workspace.storageBytes, rows: workspace.rowCount(table), tables: workspace.tables }
    const sizes = new Map<string, { readonly before: number; index: number }>()
    const answers: Array<string> = []
    let grownBy = 0
    for (const [index, write] of writes.entries()) {
      const archived = workspace.archived.length
      const [storage, rows] = [workspace.storageBytes, workspace.rowCount(table)]
      const answer = applyWrite(write, context, isBatch ? `/operations/${index}` : "")
      if (Result.isFailure(answer)) return this.refuse(request, answer.failure, index)
      for (const { content, place } of workspace.archived.slice(archived)) {
        const known = sizes.get(place.id)
        if (known === undefined) sizes.set(place.id, { before: content.data.bytes, index })
        else known.index = index
      }
      // A restored row that was deleted archives nothing, and can be larger than a limit that was lowered since.
      if (write.action === "restore" && !sizes.has(write.id)) sizes.set(write.id, { before: 0, index })
      if (workspace.storageBytes > storage || workspace.rowCount(table) > rows) grownBy = index
      answers.push(
        isBatch ? `{"index":${index},"action":"${write.action}","result":${answer.success.text}}` : answer.success.text
      )
    }
    for (const [id, size] of sizes) {
      const bytes = workspace.live(table, id)?.content?.data.bytes ?? 0
      if (bytes > limits.rowBytes && bytes > size.before) {
        return this.refuse(request, tooLarge(bytes, limits.rowBytes, ""), size.index)
      }
    }
    const full = this.overLimit(table, before)
    if (full !== undefined) return this.refuse(request, full, grownBy)
    return Result.succeed(JsonText.trusted(isBatch ? `{"results":[${answers.join()}]}` : answers[0]!))
  }

  /** The limit that the end state breaks; shrinking is always allowed. */
  private overLimit(table: string, before: { storage: number; rows: number; tables: number }) {
    const { limits, workspace } = this
    const { storageBytes, tables } = workspace
    const rows = workspace.rowCount(table)
    if (tables > limits.tables && tables > before.tables) {
      const detail = `The account may have ${limits.tables} tables with rows, and ${table} would be one more.`
      return new TableLimit({ detail, limit: limits.tables, current: before.tables })
    }
    if (rows > limits.rowsPerTable && rows > before.rows) {
      const detail = `The table ${table} may have ${limits.rowsPerTable} rows; it has ${before.rows}.`
      return new RowLimit({ detail, limit: limits.rowsPerTable, current: before.rows })
    }
    if (storageBytes > limits.storageBytes && storageBytes > before.storage) {
      const detail = `The account may hold ${limits.storageBytes} bytes; it holds ${before.storage}.`
      return new StorageLimit({ detail, limit: limits.storageBytes, current: before.storage })
    }
    return undefined
  }

  private keyReused(request: WriteRequest, detail: string): IdempotencyKeyReused | IdempotencyKeyReused400 {
    return declares409.has(request.operation)
      ? new IdempotencyKeyReused({ detail })
      : new IdempotencyKeyReused400({ detail })
  }

  private refuse(request: WriteRequest, failure: WriteFailure, index: number): Result.Result<never, WriteFailure> {
    const problem = declares413.has(request.operation) ? failure : asDeclared400(failure)
    return Result.fail(request.isBatch ? Object.assign(problem, { operation: index }) : problem)
  }
}

const asDeclared400 = (failure: WriteFailure): WriteFailure => {
  switch (failure._tag) {
    case "RowTooLarge": {
      const { current, detail, limit } = failure
      return new RowTooLarge400({ limit, current, ...(detail === undefined ? {} : { detail }) })
    }
    case "StorageLimit": {
      const { current, detail, limit } = failure
      return new StorageLimit400({ limit, current, ...(detail === undefined ? {} : { detail }) })
    }
    default:
      return failure
  }
}
