import { Result } from "effect"
import { createHash } from "node:crypto"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Limits } from "../../domain/Limits.ts"
import {
  IdempotencyKeyReused,
  IdempotencyKeyReused400,
  RequestTooLarge,
  RowLimit,
  RowTooLarge400,
  StorageLimit,
  StorageLimit400,
  TableLimit
} from "../../domain/Problem.ts"
import { tooLarge, type Write, type WriteProblem } from "../../domain/Write.ts"
import { applyWrite, type ApplyProblem, type Restorable, type WriteContext } from "./ApplyWrite.ts"
import type { Holder } from "./FindHolders.ts"
import type { Turns } from "./Turns.ts"
import type { Workspace } from "./Workspace.ts"
import type { IdempotencyRecord } from "./WritesRepo.ts"

/** One caller's write or batch, checked as far as it can be without the account's rows. */
export interface WriteRequest {
  readonly accountId: string
  /** Empty where the write is not one table's. */
  readonly table: string
  /** `add`, `upsert`, …, `batch` or `import`; with the table it is the scope of an idempotency key. */
  readonly operation: string
  readonly writes: ReadonlyArray<Write>
  /** A batch answers with all results, and its failures name the operation. */
  readonly isBatch: boolean
  /** Answers what would be, and changes nothing. */
  readonly isDryRun: boolean
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
  | RequestTooLarge
  | RowLimit
  | RowTooLarge400
  | StorageLimit
  | StorageLimit400
  | TableLimit
  | WriteProblem

export type WriteOutcome = Result.Result<WriteAnswer, WriteFailure>

export const requestHash = (text: string): string => createHash("sha256").update(text).digest("hex")

export const requestScope = (operation: string, table: string): string => `${operation}:${table}`

export interface Loaded {
  readonly records: ReadonlyMap<string, IdempotencyRecord>
  readonly restorable: ReadonlyMap<string, Restorable>
  readonly holders: ReadonlyMap<string, ReadonlyArray<Holder>>
}

export const recordId = (scope: string, key: string): string => `${scope} ${key}`
export const restorableId = (table: string, id: string): string => `${table} ${id}`

/** Operations that declare 413, and 409 for a reused key; elsewhere the same failure is a 400. */
const declares413 = new Set(["add", "batch", "save", "import"])
const declares409 = new Set(["batch", "update_where"])

/**
 * What the answer of a batch may hold, in characters. Every content that a batch writes is in its answer, so this bounds
 * the versions that pass within it too: 100 updates of every row would be 100 times what an account may hold.
 */
export const maxAnswerLength = (limits: Limits): number => 2 * limits.storageBytes + 1_048_576

const answerTooLarge = (limit: number) =>
  new RequestTooLarge({
    detail: `The results up to this operation hold more than ${limit} characters, the most that one batch answers.`,
    hint: "Split the batch here, or choose fewer rows in each filter.",
    limit
  })

/** The member of an operation that makes a row large. */
const memberOf: Partial<Record<Write["action"], string>> = {
  upsert: "/row",
  update_row: "/patch",
  update_where: "/patch"
}

/** Evaluates one request after another in a workspace, in turns; what a refused request changed is undone. */
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

  *evaluate(request: WriteRequest): Turns<WriteOutcome> {
    const { operation, table } = request
    const idempotency = request.isDryRun ? undefined : request.idempotency
    const scope = requestScope(operation, table)
    if (idempotency !== undefined) {
      const record = this.record(scope, idempotency.key, request.now)
      if (record !== undefined) {
        if (record.requestHash === idempotency.requestHash) {
          return Result.succeed({ body: record.answer, replayed: true })
        }
        return Result.fail(this.keyReused(request, "This idempotency key was used for another request."))
      }
    }
    const mark = this.workspace.mark()
    const records = this.newRecords.length
    const outcome = yield* this.apply(request)
    if (Result.isFailure(outcome)) {
      this.workspace.undo(mark)
      this.newRecords.length = records
      return Result.fail(outcome.failure)
    }
    if (request.isDryRun) {
      this.workspace.undo(mark)
      this.newRecords.length = records
      return Result.succeed({ body: outcome.success, replayed: false })
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

  private *apply(request: WriteRequest): Turns<Result.Result<JsonText, WriteFailure>> {
    const { changedBy, isBatch, now, table, writes } = request
    const { limits, loaded, newId, workspace } = this
    const addScope = requestScope("add", table)
    // Above a limit that was lowered, a request may still make anew all that there is.
    const mostBuilt = Math.max(maxAnswerLength(limits), workspace.storageBytes)
    const storage = workspace.storageBytes
    let built = 0
    const context: WriteContext = {
      workspace,
      table,
      changedBy,
      now,
      newId,
      versionsPerRow: limits.versionsPerRow,
      restorable: (id) => loaded.restorable.get(restorableId(table, id)),
      holders: (id) => loaded.holders.get(id) ?? [],
      hash: requestHash,
      addRecord: (key) => {
        const record = this.record(addScope, key, now)
        return record === undefined ? undefined : { rowHash: record.requestHash, answer: record.answer }
      },
      saveAddRecord: (key, row, answer) =>
        this.newRecords.push({ scope: addScope, key, requestHash: requestHash(row.text), answer, createdAt: now }),
      count: (bytes, before) => {
        // What comes later in a batch may make the row shorter again.
        if (!isBatch && this.outgrows(bytes, before)) return tooLarge(bytes, limits.rowBytes, "/patch")
        built += bytes
        if (built <= mostBuilt) return undefined
        return isBatch ? answerTooLarge(maxAnswerLength(limits)) : this.storageLimit(storage)
      }
    }
    const names = writes.flatMap((write) => (write.action === "import" ? [...write.tables.keys()] : []))
    const before = {
      storage,
      rows: new Map([table, ...names].map((name) => [name, workspace.rowCount(name)])),
      tables: workspace.tables
    }
    const sizes = new Map<string, { readonly before: number; index: number }>()
    let answers = ""
    let grownBy = 0
    let answerLength = 0
    for (const [index, write] of writes.entries()) {
      const archived = workspace.archived.length
      const [bytes, rows] = [workspace.storageBytes, workspace.rowCount(table)]
      const answer = yield* applyWrite(write, context, isBatch ? `/operations/${index}` : "")
      if (Result.isFailure(answer)) return this.refuse(request, answer.failure, index)
      for (const { content, place } of workspace.archived.slice(archived)) {
        const known = sizes.get(place.id)
        if (known === undefined) sizes.set(place.id, { before: content.data.bytes, index })
        else known.index = index
      }
      // A restored row that was deleted archives nothing, and can be larger than a limit that was lowered since.
      if (write.action === "restore" && !sizes.has(write.id)) sizes.set(write.id, { before: 0, index })
      // A row that an upsert made archives nothing either. One that it replaced may shrink, above the limit too.
      if (write.action === "upsert" && workspace.archived.length === archived) {
        sizes.set((yield* workspace.find(table, write.natural))[0]!.place.id, { before: 0, index })
      }
      if (workspace.storageBytes > bytes || workspace.rowCount(table) > rows) grownBy = index
      answers += isBatch
        ? `${index === 0 ? "" : ","}{"index":${index},"action":"${write.action}","result":${answer.success.text}}`
        : answer.success.text
      answerLength += answer.success.text.length
      if (index > 0 && answerLength > maxAnswerLength(limits)) {
        return this.refuse(request, answerTooLarge(maxAnswerLength(limits)), index)
      }
    }
    for (const [id, size] of sizes) {
      const bytes = workspace.live(table, id)?.content?.data.bytes ?? 0
      if (this.outgrows(bytes, size.before)) {
        const at = (isBatch ? `/operations/${size.index}` : "") + (memberOf[writes[size.index]!.action] ?? "")
        return this.refuse(request, tooLarge(bytes, limits.rowBytes, at), size.index)
      }
    }
    const full = this.overLimit(before)
    if (full !== undefined) return this.refuse(request, full, grownBy)
    return Result.succeed(JsonText.trusted(isBatch ? `{"results":[${answers}]}` : answers))
  }

  /** Whether a row is over the limit; shrinking is always allowed. */
  private outgrows(bytes: number, before: number): boolean {
    return bytes > this.limits.rowBytes && bytes > before
  }

  private storageLimit(before: number): StorageLimit {
    const limit = this.limits.storageBytes
    const detail = `The account may hold ${limit} bytes; it holds ${before}.`
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
          ? `The account may have ${limits.tables} tables with rows, and ${more[0]} would be one more.`
          : `The account may have ${limits.tables} tables with rows; it has ${before.tables}, and these would be ${more.length} more.`
      return new TableLimit({ detail, limit: limits.tables, current: before.tables })
    }
    for (const [table, had] of before.rows) {
      const rows = workspace.rowCount(table)
      if (rows > limits.rowsPerTable && rows > had) {
        const detail = `The table ${table} may have ${limits.rowsPerTable} rows; it has ${had}.`
        return new RowLimit({ detail, limit: limits.rowsPerTable, current: had })
      }
    }
    const isFull = storageBytes > limits.storageBytes && storageBytes > before.storage
    return isFull ? this.storageLimit(before.storage) : undefined
  }

  private keyReused(request: WriteRequest, detail: string): IdempotencyKeyReused | IdempotencyKeyReused400 {
    return declares409.has(request.operation)
      ? new IdempotencyKeyReused({ detail })
      : new IdempotencyKeyReused400({ detail })
  }

  private refuse(request: WriteRequest, failure: WriteFailure, index: number): Result.Result<never, WriteFailure> {
    const problem = asDeclared(request.operation, failure)
    return Result.fail(request.isBatch ? Object.assign(problem, { operation: index }) : problem)
  }
}

/** A failure with the status that the operation declares for it: many know no 413. */
export const asDeclared = (operation: string, failure: WriteFailure): WriteFailure => {
  if (declares413.has(operation)) return failure
  switch (failure._tag) {
    case "RowTooLarge": {
      const { current, detail, errors, limit } = failure
      return new RowTooLarge400({ limit, current, ...(detail && { detail }), ...(errors && { errors }) })
    }
    case "StorageLimit": {
      const { current, detail, limit } = failure
      return new StorageLimit400({ limit, current, ...(detail && { detail }) })
    }
    default:
      return failure
  }
}
