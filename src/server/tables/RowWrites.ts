import { Context, Effect, Layer, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { invalid } from "../../domain/InvalidPlaces.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { print } from "../../domain/json/Print.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { changedByText, type ChangedBy } from "../../domain/Version.ts"
import * as W from "../../domain/Write.ts"
import { Settings } from "../Config.ts"
import { failingWith, type Failures } from "./DeclaredFailures.ts"
import {
  asDeclared,
  Evaluation,
  requestHash,
  type WriteAnswer,
  type WriteFailure,
  type WriteRequest
} from "./EvaluateWrites.ts"
import { RowsRepo } from "./RowsRepo.ts"
import { inTurns } from "./Turns.ts"
import { Workspace } from "./Workspace.ts"
import { Writes } from "./Writes.ts"

/** Who writes: the same for every write, whichever door it came through. */
export interface AccountCaller {
  readonly accountId: string
  readonly changedBy: ChangedBy
  /** The database's clock when the request was admitted, in milliseconds. */
  readonly now: number
  readonly idempotencyKey: string | undefined
  /** Answers what the write would do, and changes nothing. */
  readonly isDryRun?: boolean
}

/** Who writes, and to which table. */
export interface Caller extends AccountCaller {
  readonly table: string
  /** The caller may not know of the table: it is told what it would be if the table was never written. */
  readonly isHidden?: boolean
  /** Where the row of an add stands in the request; the whole body where nothing else is said. */
  readonly rowPath?: string
}

/** One operation of a batch, as callers send it (specification section 4.3). */
export type Operation =
  | { readonly action: "add"; readonly row: JsonText; readonly idempotencyKey?: string }
  | { readonly action: "upsert"; readonly key: string | ReadonlyArray<string>; readonly row: JsonText }
  | { readonly action: "update_row"; readonly id: string; readonly patch: JsonText }
  | {
      readonly action: "update_where"
      readonly filter: JsonText
      readonly patch: JsonText
      readonly allowMultiple?: boolean
    }
  | { readonly action: "delete"; readonly filter: JsonText }

/** An edit: `fields` is the whole new row, or a patch of it. `updatedAt` (in milliseconds) is the row's as it was read. */
interface Save {
  readonly action: "save"
  readonly id: string
  readonly updatedAt: number | undefined
  readonly fields: JsonText
  readonly replaces: boolean
  /** The one field that is edited, which must hold a string; undefined for the whole row. */
  readonly textField: string | undefined
  /** The fields are those of an archived version, and the row's history says so. */
  readonly restores: boolean
}

/** An operation on its own: those of a batch, the restore of an archived version, and the edit of a row that was read. */
export type SingleOperation =
  | Operation
  | { readonly action: "restore"; readonly id: string; readonly version: number }
  | Save

type Failure = WriteFailure | Unavailable

// The tags are the specification's declared statuses (section 4.2).
const failures = {
  add: ["RowTooLarge", "StorageLimit", "IdempotencyKeyReused400"],
  upsert: ["RowTooLarge400", "StorageLimit400", "IdempotencyKeyReused400", "AmbiguousKey"],
  update_row: ["RowTooLarge400", "StorageLimit400", "IdempotencyKeyReused400", "RowNotFound"],
  update_where: [
    "RowTooLarge400",
    "StorageLimit400",
    "FilterRequired",
    "RowNotFound",
    "MultipleMatches",
    "IdempotencyKeyReused"
  ],
  delete: ["RowTooLarge400", "StorageLimit400", "FilterRequired", "IdempotencyKeyReused400"],
  restore: ["RowTooLarge400", "StorageLimit400", "IdempotencyKeyReused400", "VersionNotFound"],
  save: ["RowTooLarge", "StorageLimit", "RowNotFound", "FieldNotFound", "FieldNotText", "EditConflict"],
  batch: [
    "RequestTooLarge",
    "RowTooLarge",
    "StorageLimit",
    "FilterRequired",
    "AmbiguousKey",
    "RowNotFound",
    "MultipleMatches",
    "IdempotencyKeyReused"
  ]
} as const satisfies Record<string, ReadonlyArray<Failure["_tag"]>>

const common = ["InvalidRequest", "ReservedField", "TableLimit", "RowLimit", "Unavailable"] as const

type Tags<A extends keyof typeof failures> = (typeof failures)[A][number] | (typeof common)[number]

/** What one operation can fail with. */
export type FailureOf<A extends keyof typeof failures> = Failures<Tags<A>>

const only = <A extends keyof typeof failures>(action: A) => failingWith<Tags<A>>([...failures[action], ...common])

/** Changes the rows of one table: validates what can be told without the rows, then queues the write. */
export class RowWrites extends Context.Service<
  RowWrites,
  {
    readonly write: <A extends SingleOperation["action"]>(
      caller: Caller,
      operation: Extract<SingleOperation, { readonly action: A }>
    ) => Effect.Effect<WriteAnswer, FailureOf<A>>
    readonly batch: (
      caller: Caller,
      operations: ReadonlyArray<Operation>
    ) => Effect.Effect<WriteAnswer, FailureOf<"batch">>
  }
>()("agent-memory/server/tables/RowWrites") {
  static readonly layerNoDeps = Layer.effect(
    RowWrites,
    Effect.gen(function* () {
      const writes = yield* Writes
      const rows = yield* RowsRepo
      const { limits } = yield* Settings

      /** How long a row or patch may be. What is stored is asked only where that can matter: a limit is seldom lowered. */
      const sizeFor = Effect.fnUntraced(function* (caller: Caller, operations: ReadonlyArray<SingleOperation>) {
        const limit = limits.rowBytes
        const isWithin = caller.isHidden === true || operations.every((one) => (fieldsIn(one)?.bytes ?? 0) <= limit)
        return {
          limit,
          longest: isWithin ? limit : Math.max(limit, yield* rows.longest(caller.accountId, caller.table))
        }
      })

      const prepare = (
        operation: SingleOperation,
        size: W.RowSize,
        at: string,
        rowPath = `${at}/row`
      ): Result.Result<W.Write, W.WriteProblem> => {
        switch (operation.action) {
          case "add":
            return W.addOf(operation.row, unquoted(operation.idempotencyKey), limits.rowBytes, rowPath)
          case "upsert":
            return W.upsertOf(operation.key, operation.row, size, at)
          case "update_row":
            return W.updateRowOf(operation.id, operation.patch, size, at)
          case "update_where":
            return W.updateWhereOf(operation.filter, operation.patch, operation.allowMultiple === true, size, at)
          case "delete":
            return W.deleteOf(operation.filter, at)
          case "restore":
            return Result.succeed(operation)
          case "save":
            return W.saveOf(operation, size, at)
        }
      }

      const run = (
        { accountId, changedBy, idempotencyKey, isDryRun = false, isHidden = false, now, table }: Caller,
        operation: string,
        prepared: ReadonlyArray<W.Write>,
        isBatch: boolean,
        text: string
      ) => {
        const key = unquoted(idempotencyKey)
        const request: WriteRequest = {
          accountId,
          table,
          operation,
          writes: prepared,
          isBatch,
          isDryRun,
          changedBy: changedByText(changedBy),
          now,
          idempotency: key === undefined ? undefined : { key, requestHash: requestHash(text) },
          bytes: text.length
        }
        return isHidden ? onAbsentTable(request) : writes.run(request)
      }

      /** What a write answers on a table that was never written; nothing of the account is looked at. */
      const onAbsentTable = (request: WriteRequest) => {
        const empty = new Workspace({ revision: 0, nextSeq: 0, storageBytes: 0, rowsByTable: new Map() })
        const nothing = { records: new Map(), restorable: new Map(), holders: new Map() }
        const evaluation = new Evaluation(empty, nothing, limits, uuidV7Unsafe)
        return Effect.flatMap(inTurns(evaluation.evaluate({ ...request, isDryRun: true })), Effect.fromResult)
      }

      const writeAny = Effect.fn("RowWrites.write")(function* (caller: Caller, operation: SingleOperation) {
        const { action } = operation
        const prepared = prepare(operation, yield* sizeFor(caller, [operation]), "", caller.rowPath ?? "")
        if (Result.isFailure(prepared)) return yield* asDeclared(action, prepared.failure)
        const text = operation.action === "add" ? operation.row.text : print(inOneForm(operation))
        return yield* run(caller, action, [prepared.success], false, text)
      })

      const write: RowWrites["Service"]["write"] = (caller, operation) =>
        writeAny(caller, operation).pipe(only(operation.action))

      const batch = Effect.fn("RowWrites.batch")(function* (caller: Caller, operations: ReadonlyArray<Operation>) {
        if (operations.length === 0 || operations.length > limits.batchOperations) {
          return yield* invalid(
            "/operations",
            `must hold 1 to ${limits.batchOperations} operations, and holds ${operations.length}`
          )
        }
        const size = yield* sizeFor(caller, operations)
        const prepared: Array<W.Write> = []
        for (const [index, operation] of operations.entries()) {
          const one = prepare(operation, size, `/operations/${index}`)
          if (Result.isFailure(one)) return yield* Object.assign(one.failure, { operation: index })
          prepared.push(one.success)
        }
        return yield* run(caller, "batch", prepared, true, print(operations.map(inOneForm)))
      }, only("batch"))

      return RowWrites.of({ write, batch })
    })
  )

  static readonly layer = RowWrites.layerNoDeps.pipe(Layer.provide([Writes.layer, RowsRepo.layer]))
}

/** The fields that a row may be too small for; an add's are refused without a look at what is stored. */
const fieldsIn = (operation: SingleOperation): JsonText | undefined => {
  switch (operation.action) {
    case "upsert":
      return operation.row
    case "update_row":
    case "update_where":
      return operation.patch
    case "save":
      return operation.fields
    default:
      return undefined
  }
}

/** An operation with its members in one order and form, by which a repeat is known whichever door either came through. */
const inOneForm = (operation: SingleOperation): object => {
  const { action } = operation
  switch (operation.action) {
    case "add":
      return { action, row: operation.row, idempotencyKey: unquoted(operation.idempotencyKey) }
    case "upsert": {
      const { key, row } = operation
      return { action, key: typeof key === "string" ? [key] : key, row }
    }
    case "update_row":
      return { action, id: operation.id, patch: operation.patch }
    case "update_where": {
      const { allowMultiple, filter, patch } = operation
      return { action, filter, patch, allowMultiple: allowMultiple === true }
    }
    case "delete":
    case "restore":
    case "save":
      return operation
  }
}

/** `"abc"` and `abc` are one key: the header's draft writes it as a quoted string. */
export const unquoted = (key: string | undefined): string | undefined =>
  key !== undefined && /^".+"$/.test(key) ? key.slice(1, -1) : key
