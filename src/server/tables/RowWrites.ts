import { Context, Effect, Layer, Result } from "effect"
import type { JsonText } from "../../domain/json/JsonText.ts"
import { print } from "../../domain/json/Print.ts"
import { RowTooLarge400, type Unavailable } from "../../domain/Problem.ts"
import { changedByText, type ChangedBy } from "../../domain/Version.ts"
import * as W from "../../domain/Write.ts"
import { Settings } from "../Config.ts"
import { requestHash, type WriteAnswer, type WriteFailure } from "./EvaluateWrites.ts"
import { Writes } from "./Writes.ts"

/** Who writes where: the same for every write, whichever door it came through. */
export interface Caller {
  readonly accountId: string
  readonly table: string
  readonly changedBy: ChangedBy
  /** The database's clock when the request was admitted, in milliseconds. */
  readonly now: number
  readonly idempotencyKey: string | undefined
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

/** An operation on its own: those of a batch, and the restore of an archived version. */
export type SingleOperation = Operation | { readonly action: "restore"; readonly id: string; readonly version: number }

type Failure = WriteFailure | W.WriteProblem | Unavailable

// The tags are the specification's declared statuses (section 4.2). Whatever else came up would be our own fault.
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
  batch: [
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
export type FailureOf<A extends keyof typeof failures> = Extract<Failure, { readonly _tag: Tags<A> }>

const only =
  <A extends keyof typeof failures>(action: A) =>
  <R>(effect: Effect.Effect<WriteAnswer, Failure, R>): Effect.Effect<WriteAnswer, FailureOf<A>, R> => {
    const tags: ReadonlySet<string> = new Set([...failures[action], ...common])
    const isDeclared = (failure: Failure): failure is FailureOf<A> => tags.has(failure._tag)
    return Effect.catch(effect, (failure): Effect.Effect<never, FailureOf<A>> => {
      if (isDeclared(failure)) return Effect.fail(failure)
      return Effect.die(failure)
    })
  }

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
      const { limits } = yield* Settings

      const prepare = (operation: SingleOperation, at: string): Result.Result<W.Write, W.WriteProblem> => {
        switch (operation.action) {
          case "add":
            return W.addOf(
              operation.row,
              unquoted(operation.idempotencyKey),
              limits.rowBytes,
              // Alone, the row is the whole body.
              at === "" ? at : `${at}/row`
            )
          case "upsert":
            return W.upsertOf(operation.key, operation.row, limits.rowBytes, at)
          case "update_row":
            return W.updateRowOf(operation.id, operation.patch, at)
          case "update_where":
            return W.updateWhereOf(operation.filter, operation.patch, operation.allowMultiple === true, at)
          case "delete":
            return W.deleteOf(operation.filter, at)
          case "restore":
            return Result.succeed(operation)
        }
      }

      const run = (
        { accountId, changedBy, idempotencyKey, now, table }: Caller,
        operation: string,
        prepared: ReadonlyArray<W.Write>,
        isBatch: boolean,
        text: string
      ) => {
        const key = unquoted(idempotencyKey)
        return writes.run({
          accountId,
          table,
          operation,
          writes: prepared,
          isBatch,
          changedBy: changedByText(changedBy),
          now,
          idempotency: key === undefined ? undefined : { key, requestHash: requestHash(text) },
          bytes: text.length
        })
      }

      const writeAny = Effect.fn("RowWrites.write")(function* (caller: Caller, operation: SingleOperation) {
        const { action, ...members } = operation
        const prepared = prepare(operation, "")
        if (Result.isFailure(prepared)) {
          return yield* action === "add" ? prepared.failure : declared400(prepared.failure)
        }
        const text = operation.action === "add" ? operation.row.text : print(members)
        return yield* run(caller, action, [prepared.success], false, text)
      })

      const write: RowWrites["Service"]["write"] = (caller, operation) =>
        writeAny(caller, operation).pipe(only(operation.action))

      const batch = Effect.fn("RowWrites.batch")(function* (caller: Caller, operations: ReadonlyArray<Operation>) {
        if (operations.length === 0 || operations.length > limits.batchOperations) {
          return yield* W.invalid(
            "/operations",
            `must hold 1 to ${limits.batchOperations} operations, and holds ${operations.length}`
          )
        }
        const prepared: Array<W.Write> = []
        for (const [index, operation] of operations.entries()) {
          const one = prepare(operation, `/operations/${index}`)
          if (Result.isFailure(one)) return yield* Object.assign(one.failure, { operation: index })
          prepared.push(one.success)
        }
        return yield* run(caller, "batch", prepared, true, print(operations))
      }, only("batch"))

      return RowWrites.of({ write, batch })
    })
  )

  static readonly layer = RowWrites.layerNoDeps.pipe(Layer.provide(Writes.layer))
}

/** `"abc"` and `abc` are one key: the header's draft writes it as a quoted string. */
const unquoted = (key: string | undefined): string | undefined =>
  key !== undefined && /^".+"$/.test(key) ? key.slice(1, -1) : key

const declared400 = (problem: W.WriteProblem): W.WriteProblem | RowTooLarge400 => {
  if (problem._tag !== "RowTooLarge") return problem
  const { current, detail, errors, limit } = problem
  return new RowTooLarge400({ limit, current, ...(detail && { detail }), ...(errors && { errors }) })
}
