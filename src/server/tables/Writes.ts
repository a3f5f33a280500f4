import { Context, Effect, Layer, Result } from "effect"
import { uuidV7Unsafe } from "effect/crypto/SecureRandom"
import { SqlClient } from "effect/sql"
import { accountRefusal, changedBy, changeRefusal, sees, tableRefusal, type Actor } from "../../domain/Actor.ts"
import { print } from "../../domain/json/JsonText.ts"
import {
  invalid,
  withMembers,
  type InvalidTableName,
  type Unauthenticated,
  type Unavailable
} from "../../domain/Problem.ts"
import { unquoted } from "../../domain/RowInput.ts"
import { inTurns } from "../../domain/Turns.ts"
import { changedByText } from "../../domain/Row.ts"
import { Settings } from "../config/Settings.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Evaluation, requestHash, type WriteRequest, type WriteResult } from "./engine/Evaluation.ts"
import { nothingLoaded } from "./engine/Load.ts"
import { Workspace } from "./engine/Workspace.ts"
import { WriteQueue } from "./engine/WriteQueue.ts"
import { readTables, type AccountRows } from "./operations/ImportRows.ts"
import {
  kindOf,
  longestFields,
  type Action,
  type OperationFailure,
  type Sent,
  type Write
} from "./operations/Operations.ts"
import { makeStoredRows } from "./StoredRows.ts"

interface WriteOptions {
  readonly idempotencyKey?: string | undefined
  /** The result is what the write would do, and nothing is changed. */
  readonly isDryRun?: boolean
}

export interface WriteTarget extends WriteOptions {
  readonly table: string
}

/** An operation of a request with one. */
export type SingleOperation = Exclude<Sent, { readonly action: "import" | "undo" }>

/** An operation of a batch. */
export type BatchOperation = Exclude<SingleOperation, { readonly action: "restore" | "save" }>

/** What a write can fail with. */
export type FailureOf<A extends Action | "batch"> =
  | OperationFailure<A extends Action ? A : BatchOperation["action"]>
  | Unauthenticated
  | Unavailable

/**
 * Changes rows: checks what can be checked without them, then queues the write. On a table that the actor can't see, the
 * result is as if the table had never been written, and operations that can add rows are refused.
 */
export class Writes extends Context.Service<Writes>()("agent-memory/server/tables/Writes", {
  make: Effect.gen(function* () {
    const queue = yield* WriteQueue
    const stored = makeStoredRows(yield* SqlClient.SqlClient)
    const { limits } = yield* Settings

    /** How long a row or patch may be. The stored rows only matter where a row limit was lowered, which is rare. */
    const sizeFor = Effect.fnUntraced(function* (
      actor: Actor,
      table: string,
      operations: ReadonlyArray<SingleOperation>
    ) {
      const limit = limits.rowBytes
      if (!sees(actor, table) || longestFields(operations) <= limit) return { limit, longest: limit }
      return { limit, longest: Math.max(limit, yield* stored.longest(actor.accountId, table)) }
    })

    const requestOf = (
      actor: Actor,
      { idempotencyKey, isDryRun = false }: WriteOptions,
      request: Pick<WriteRequest, "bytes" | "operation" | "table" | "writes">,
      hash: () => string
    ): WriteRequest => {
      const key = unquoted(idempotencyKey)
      return {
        ...request,
        isBatch: request.operation === "batch",
        accountId: actor.accountId,
        isDryRun,
        changedBy: changedByText(changedBy(actor)),
        now: actor.now.getTime(),
        incarnation: actor.incarnation,
        idempotency: key === undefined ? undefined : { key, requestHash: hash() }
      }
    }

    const run = (actor: Actor, target: WriteTarget, operation: string, writes: ReadonlyArray<Write>, text: string) => {
      const { table } = target
      const parts = { table, operation, writes, bytes: text.length }
      const request = requestOf(actor, target, parts, () => requestHash(text))
      return sees(actor, table) ? queue.run(request) : onAbsentTable(request)
    }

    /** The result of a write to a table that was never written. Reads nothing of the account. */
    const onAbsentTable = (request: WriteRequest) => {
      const empty = {
        revision: 0,
        incarnation: 0,
        nextSeq: 0,
        nextChange: 1,
        storageBytes: 0,
        rowsByTable: new Map<string, number>()
      }
      const evaluation = new Evaluation(new Workspace(empty), nothingLoaded, limits, uuidV7Unsafe)
      return Effect.flatMap(inTurns(evaluation.evaluate({ ...request, isDryRun: true })), Effect.fromResult)
    }

    const writeAny = traced("Writes.write")(function* (actor: Actor, target: WriteTarget, operation: SingleOperation) {
      const kind = kindOf(operation)
      const refusal = refusalOf(actor, target.table, kind.addsRows)
      if (refusal !== undefined) return yield* refusal
      const checked = kind.check(operation, yield* sizeFor(actor, target.table, [operation]), "")
      if (Result.isFailure(checked)) return yield* checked.failure
      const text = operation.action === "add" ? operation.row.text : print(kind.canonical(operation))
      return yield* run(actor, target, operation.action, [checked.success], text)
    })

    /** One operation. Succeeds when it is durable. */
    // The queue carries all operations, so its type has the failures of them all.
    const write = writeAny as <A extends SingleOperation["action"]>(
      actor: Actor,
      target: WriteTarget,
      operation: Extract<SingleOperation, { readonly action: A }>
    ) => Effect.Effect<WriteResult, FailureOf<A>>

    /** Several operations, all or none. A failure names its operation by index. */
    const batch = traced("Writes.batch")(function* (
      actor: Actor,
      target: WriteTarget,
      operations: ReadonlyArray<BatchOperation>
    ) {
      const refusal = refusalOf(actor, target.table, true)
      if (refusal !== undefined) return yield* refusal
      if (operations.length === 0 || operations.length > limits.batchOperations) {
        const message = `must hold 1 to ${limits.batchOperations} operations, and holds ${operations.length}`
        return yield* invalid("/operations", message)
      }
      const size = yield* sizeFor(actor, target.table, operations)
      const writes: Array<Write> = []
      for (const [index, operation] of operations.entries()) {
        const checked = kindOf(operation).check(operation, size, `/operations/${index}`)
        if (Result.isFailure(checked)) return yield* withMembers(checked.failure, { operation: index })
        writes.push(checked.success)
      }
      const text = print(operations.map((operation) => kindOf(operation).canonical(operation)))
      return yield* run(actor, target, "batch", writes, text)
    }) as (
      actor: Actor,
      target: WriteTarget,
      operations: ReadonlyArray<BatchOperation>
    ) => Effect.Effect<WriteResult, FailureOf<"batch">>

    /**
     * Adds the rows of an export after those that the tables have, all or none. Removes from `tables` what it has read. An
     * id is unique in the whole account, so an actor that can't see all tables imports nothing: a conflict would show rows
     * of the others.
     */
    const importTables = traced("Writes.import")(function* (actor: Actor, options: WriteOptions, tables: AccountRows) {
      const refusal = accountRefusal(actor)
      if (refusal !== undefined) return yield* refusal
      const read = yield* inTurns(readTables(tables, { now: actor.now.getTime(), rowBytes: limits.rowBytes }))
      if (Result.isFailure(read)) return yield* read.failure
      const { bytes, hash, write } = read.success
      const request = { table: "", operation: "import", writes: [write], bytes }
      return yield* queue.run(requestOf(actor, options, request, () => hash))
    }) as (
      actor: Actor,
      options: WriteOptions,
      tables: AccountRows
    ) => Effect.Effect<WriteResult, FailureOf<"import"> | InvalidTableName>

    /**
     * Takes back a whole write, if none of its rows has changed since: rows that it added are deleted, the others get their
     * former content. Of a write to several tables an actor that can't see all takes back what it sees.
     */
    const undo = traced("Writes.undo")(function* (actor: Actor, options: WriteOptions, change: number) {
      const refusal = changeRefusal(actor)
      if (refusal !== undefined) return yield* refusal
      const write = { action: "undo", change, tables: actor.access.tables } as const
      const text = print(kindOf(write).canonical(write))
      const request = { table: "", operation: "undo", writes: [write], bytes: text.length }
      return yield* queue.run(requestOf(actor, options, request, () => requestHash(text)))
    }) as (actor: Actor, options: WriteOptions, change: number) => Effect.Effect<WriteResult, FailureOf<"undo">>

    return { write, batch, import: importTables, undo }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

/** Why an actor may not write to a table at all, or undefined. */
const refusalOf = (actor: Actor, table: string, addsRows = false) =>
  changeRefusal(actor) ?? (addsRows ? tableRefusal(actor, table) : undefined)
