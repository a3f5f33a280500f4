import { Effect, Schema } from "effect"
import { bounded } from "../../../domain/ExactJson.ts"
import { invalidPlaces } from "../../../domain/InvalidPlaces.ts"
import { pointerTo } from "../../../domain/json/JsonIssue.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import type { FieldIssue } from "../../../domain/Problem.ts"
import type { ServiceLimits } from "../../Config.ts"
import { numberText, plural } from "../../LimitWords.ts"
import { RowWrites, type FailureOf, type Operation } from "../../tables/RowWrites.ts"
import { boundedBatch, boundedUpdate, tokenBudget } from "../Budget.ts"
import { callerOf, makerOfRows } from "../Caller.ts"
import * as F from "../Fields.ts"
import { adds, changes, changesAnew, tool } from "../Tool.ts"
import { written } from "../Written.ts"
import { dryDelete, dryRefusedUpdate, dryUpdate } from "./DryRun.ts"

const asRow = (body: JsonText) => JsonText.trusted(`{"row":${body.text}}`)

export const add = (limits: ServiceLimits) =>
  tool({
    name: "add",
    title: "Add a row",
    description:
      "Adds a JSON row to a table and answers the stored row with its id. Use it when each event should create a new row; to save or replace, use upsert; for several rows of one table, use batch.",
    hints: adds,
    input: Schema.Struct({ table: F.table, idempotencyKey: Schema.optionalKey(F.idempotencyKey), row: F.row(limits) }),
    output: Schema.Struct({ row: F.storedRow, replayed: F.replayed }),
    run: Effect.fnUntraced(function* (args, connection) {
      const writes = yield* RowWrites
      const caller = yield* makerOfRows(connection, args)
      return yield* written(writes.write(caller, { action: "add", row: args.row }), asRow)
    })
  })

export const upsert = (limits: ServiceLimits) =>
  tool({
    name: "upsert",
    title: "Save or replace a row",
    description:
      "Inserts the row, or replaces the whole row whose key fields have the same values; created tells which happened. The row holds all its fields: what it leaves out is dropped. Use it for save-or-replace; to change a key's own value, use update_row or update_where.",
    hints: changes,
    input: Schema.Struct({
      table: F.table,
      key: F.key,
      idempotencyKey: Schema.optionalKey(F.idempotencyKey),
      row: F.row(limits)
    }),
    output: Schema.Struct({
      created: Schema.Boolean.annotate({ description: "true: a new row; false: a row was replaced." }),
      row: F.storedRow,
      replayed: F.replayed
    }),
    run: Effect.fnUntraced(function* (args, connection) {
      const writes = yield* RowWrites
      const operation = { action: "upsert", key: args.key, row: args.row } as const
      return yield* written(writes.write(yield* makerOfRows(connection, args), operation))
    })
  })

export const updateRow = tool({
  name: "update_row",
  title: "Change a row by id",
  description:
    "Patches one existing row by its id, and never creates one. Use it when the id is known; by other attributes, use update_where. The old row is archived: see versions and restore.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    id: F.id,
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    patch: F.patch
  }),
  output: Schema.Struct({ row: F.storedRow, replayed: F.replayed }),
  run: Effect.fnUntraced(function* (args, connection) {
    const writes = yield* RowWrites
    const operation = { action: "update_row", id: args.id, patch: args.patch } as const
    return yield* written(writes.write(callerOf(connection, args), operation))
  })
})

const dryRunFields = {
  dry_run: Schema.optionalKey(Schema.Boolean.annotate({ description: "true: nothing was changed." })),
  matched: Schema.optionalKey(F.count("With dryRun: how many rows match.")),
  ids: Schema.optionalKey(
    Schema.Array(Schema.String).annotate({ description: "With dryRun: the ids of the rows that match, 500 at most." })
  ),
  has_more: Schema.optionalKey(Schema.Boolean.annotate({ description: "true: not every row or id is here." }))
}

export const updateWhere = tool({
  name: "update_where",
  title: "Change rows by their values",
  description:
    "Patches the row that matches a non-empty filter: exactly one by default, several only with allowMultiple. Use it for edits by natural attributes; when the id is known, use update_row. dryRun tells first what would change.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    allowMultiple: Schema.optionalKey(F.allowMultiple),
    dryRun: Schema.optionalKey(F.dryRun),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    filter: F.requiredFilter,
    patch: F.patch
  }),
  output: Schema.Struct({
    updated: Schema.optionalKey(F.count("How many rows were changed.")),
    rows: Schema.optionalKey(F.storedRows),
    ...dryRunFields,
    ids: Schema.optionalKey(
      Schema.Array(Schema.String).annotate({
        description:
          "The ids of changed rows that did not fit into rows, or with dryRun of all that match; 500 at most."
      })
    ),
    needs_allow_multiple: Schema.optionalKey(
      Schema.Boolean.annotate({
        description: "true: several rows match, so that without allowMultiple the call would be refused."
      })
    ),
    replayed: F.replayed
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, connection) {
    const writes = yield* RowWrites
    const operation = {
      action: "update_where",
      filter: args.filter,
      patch: args.patch,
      allowMultiple: args.allowMultiple === true
    } as const
    const write = writes.write(callerOf(connection, args), operation)
    if (args.dryRun !== true) return yield* written(write, boundedUpdate)
    return yield* written(write, dryUpdate).pipe(
      Effect.catchTag("MultipleMatches", () => dryRefusedUpdate(connection, args))
    )
  })
})

export const remove = ({ versionDays }: ServiceLimits) =>
  tool({
    name: "delete",
    title: "Delete rows",
    description: `Deletes every row that matches a non-empty filter. Destructive: use it only when removal is clearly requested, and try dryRun first to see what would go. Deleted rows can be brought back with restore for ${plural(versionDays, "day")}, by the ids that dryRun tells.`,
    hints: changes,
    input: Schema.Struct({
      table: F.table,
      dryRun: Schema.optionalKey(F.dryRun),
      idempotencyKey: Schema.optionalKey(F.idempotencyKey),
      filter: F.requiredFilter
    }),
    output: Schema.Struct({
      deleted: Schema.optionalKey(F.count("How many rows were deleted.")),
      ...dryRunFields,
      replayed: F.replayed
    }),
    isRead: ({ dryRun }) => dryRun === true,
    run: Effect.fnUntraced(function* (args, connection) {
      if (args.dryRun === true) return yield* dryDelete(connection, args)
      const writes = yield* RowWrites
      return yield* written(writes.write(callerOf(connection, args), { action: "delete", filter: args.filter }))
    })
  })

// One flat object for all actions: models fill in unions of objects badly, and some clients drop them.
const batchItem = (limits: ServiceLimits) =>
  Schema.Struct({
    action: F.oneOf(
      ["add", "upsert", "update_row", "update_where", "delete"],
      "add needs row; upsert needs key and row; update_row needs id and patch; update_where needs filter and patch; delete needs filter."
    ),
    id: Schema.optionalKey(F.id),
    key: Schema.optionalKey(F.key),
    allowMultiple: Schema.optionalKey(F.allowMultiple),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    filter: Schema.optionalKey(F.requiredFilter),
    patch: Schema.optionalKey(F.patch),
    row: Schema.optionalKey(F.row(limits))
  })
type BatchItem = ReturnType<typeof batchItem>["Type"]

const members = {
  add: { needs: ["row"], takes: ["idempotencyKey"] },
  upsert: { needs: ["key", "row"], takes: [] },
  update_row: { needs: ["id", "patch"], takes: [] },
  update_where: { needs: ["filter", "patch"], takes: ["allowMultiple"] },
  delete: { needs: ["filter"], takes: [] }
} as const

/** What a flat item lacks for its action, or has too much. */
const faultsOf = (item: BatchItem, index: number): ReadonlyArray<FieldIssue> => {
  const { needs, takes } = members[item.action]
  const known: ReadonlyArray<string> = ["action", ...needs, ...takes]
  const fault = (name: string, word: string) => ({
    path: pointerTo(["operations", index, name]),
    message: `is ${word} for ${item.action}`
  })
  return [
    ...needs.filter((name) => item[name] === undefined).map((name) => fault(name, "required")),
    ...Object.keys(item).flatMap((name) => (known.includes(name) ? [] : [fault(name, "not known")]))
  ]
}

const maxFaults = 20

/** The operations that flat items stand for. */
const operationsOf = (items: ReadonlyArray<BatchItem>) => {
  const faults = items.flatMap(faultsOf)
  return faults.length === 0
    ? Effect.succeed(items as ReadonlyArray<Operation>)
    : Effect.fail(invalidPlaces(faults.slice(0, maxFaults)))
}

/** A problem of one operation, which says in words too which it is. */
const ofOperation = (items: ReadonlyArray<BatchItem>) => (problem: FailureOf<"batch">) => {
  const { detail = "", operation } = problem
  if (operation === undefined || detail.startsWith("/operations/")) return problem
  const place = ("errors" in problem && problem.errors?.[0]?.path) || pointerTo(["operations", operation])
  return Object.assign(problem, { detail: `${place} (${items[operation]!.action}): ${detail}` })
}

const operationCount = ({ batchOperations }: ServiceLimits) =>
  batchOperations === 1 ? "1 operation" : `1 to ${numberText(batchOperations)} operations`

export const batch = (limits: ServiceLimits) =>
  tool({
    name: "batch",
    title: "Several changes at once",
    description: `Runs ${operationCount(limits)} (add, upsert, update_row, update_where, delete) on one table in their order, all or nothing, as one write. Later operations see what earlier ones did. Use it for several writes to the same table. dryRun answers the results and changes nothing.`,
    hints: changesAnew,
    rows: limits.batchOperations,
    input: Schema.Struct({
      table: F.table,
      dryRun: Schema.optionalKey(F.dryRun),
      idempotencyKey: Schema.optionalKey(F.idempotencyKey),
      operations: Schema.Array(batchItem(limits)).annotate({
        description: `${operationCount(limits)}, done in this order.`,
        ...bounded("batchOperations", "operations")
      })
    }),
    output: Schema.Struct({
      results: Schema.Array(
        Schema.Struct({
          index: F.count("The operation's place, from 0."),
          action: Schema.String.annotate({ description: "What it did." }),
          result: F.exactObject(
            `What the single operation answers; for add the row itself. Rows beyond about ${numberText(tokenBudget)} tokens are left out, and their id stands here, or their ids.`
          )
        })
      ).annotate({ description: "One result for each operation." }),
      dry_run: Schema.optionalKey(Schema.Boolean.annotate({ description: "true: nothing was changed." })),
      has_more: Schema.optionalKey(
        Schema.Boolean.annotate({ description: "true: some results have ids in the place of rows." })
      ),
      replayed: F.replayed
    }),
    isRead: ({ dryRun }) => dryRun === true,
    run: Effect.fnUntraced(function* (args, connection) {
      const writes = yield* RowWrites
      const operations = yield* operationsOf(args.operations)
      const caller = yield* makerOfRows(connection, args)
      const write = Effect.mapError(writes.batch(caller, operations), ofOperation(args.operations))
      return yield* written(write, (body) => {
        const bounded = boundedBatch(body)
        return args.dryRun === true ? JsonText.trusted(`{"dry_run":true,${bounded.text.slice(1)}`) : bounded
      })
    })
  })
