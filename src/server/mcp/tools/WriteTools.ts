import { Effect, Schema } from "effect"
import { numberText } from "../../../domain/Amounts.ts"
import { bounded } from "../../../domain/ExactJson.ts"
import { type FieldIssue, invalidFields, withMembers } from "../../../domain/Problem.ts"
import { pointerTo } from "../../../domain/json/JsonIssue.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { Rows } from "../../tables/Rows.ts"
import { type FailureOf, type BatchOperation, Writes } from "../../tables/Writes.ts"
import {
  asDryRun,
  batchReceipt,
  boundedBatch,
  boundedUpdate,
  dryDelete,
  dryEvaluated,
  dryRefusedUpdate,
  dryUpdate,
  receipt,
  rowOrReceipt,
  shownBy,
  written
} from "../Receipts.ts"
import { tokenBudget } from "../Results.ts"
import { changes, changesAnew, targetOf, tool } from "../Tool.ts"
import * as F from "../ToolFields.ts"

export const upsert = tool({
  name: "upsert",
  title: "Save or replace a row",
  description:
    "Inserts a row, or replaces the whole row with the same key values: fields left out are removed. To change a key's value, use update_row.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    key: F.key,
    returnRows: F.returnRows,
    ifUpdatedAt: F.ifUpdatedAtOrNone,
    idempotencyKey: F.idempotencyKey,
    row: F.row
  }),
  output: Schema.Struct({ created: F.created, ...F.writtenRow, ...F.writeTold }),
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const { ifUpdatedAt, key, row } = args
    const operation = { action: "upsert", key, row, ifUpdatedAt } as const
    return yield* written(writes.write(actor, targetOf(args), operation), rowOrReceipt(args))
  })
})

export const updateRow = tool({
  name: "update_row",
  title: "Change a row by id",
  description:
    "Changes one row by its id, never creates one: patch sets fields; edits change counters, lists and long texts in place.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    id: F.id,
    ...F.guardedWrite,
    edits: F.edits,
    patch: F.patch
  }),
  output: Schema.Struct({ ...F.writtenRow, note: F.patchNote, ...F.writeTold }),
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const { idempotencyKey: _key, returnRows: _rows, table: _table, ...changes } = yield* F.withEdits(args)
    const operation = { action: "update_row", ...changes } as const
    return yield* written(writes.write(actor, targetOf(args), operation), rowOrReceipt(args))
  })
})

export const updateWhere = tool({
  name: "update_where",
  title: "Change rows by their values",
  description:
    "Changes the row that matches a non-empty filter, by patch, edits or both; several rows only with allowMultiple.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    allowMultiple: F.allowMultiple,
    dryRun: F.dryRun,
    ...F.guardedWrite,
    search: F.anySearch,
    filter: F.requiredFilter,
    edits: F.edits,
    patch: F.patch
  }),
  output: Schema.Struct({
    updated: F.anyCount("How many rows were changed."),
    rows: F.storedRows,
    ...F.matchedRows,
    needs_allow_multiple: F.anyFlag("Several rows match."),
    note: F.patchNote,
    ...F.writeTold
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const {
      dryRun: _dry,
      idempotencyKey: _key,
      returnRows: _rows,
      table: _table,
      ...changes
    } = yield* F.withEdits(args)
    const operation = { action: "update_where", ...changes, allowMultiple: args.allowMultiple === true } as const
    const { notes } = yield* Rows
    const write = notes.ofWrite(args, actor, writes.write(actor, targetOf(args), operation))
    if (args.dryRun !== true) return yield* written(write, shownBy(args, boundedUpdate, receipt))
    return yield* Effect.catchTag(written(write, dryUpdate), "MultipleMatches", () => dryRefusedUpdate(actor, args))
  })
})

/** A deletion for good has no time until which it can be undone. */
const withoutNull = ({ text }: JsonText): JsonText => JsonText.trusted(text.replace(',"restorable_until":null', ""))

export const remove = tool({
  name: "delete",
  title: "Delete rows",
  description:
    "Deletes every row that matches a non-empty filter, or with all the whole table. Only when removal is clearly requested; try dryRun first. For {limits.versionDays} restore undoes it by the change in the result; with forever nothing can: the rows are gone with all versions, also rows deleted before. Only when that is asked for.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    dryRun: F.dryRun,
    all: F.anyFlag("true, without filter: every row."),
    forever: F.anyFlag("true deletes for good."),
    ifUpdatedAt: F.ifUpdatedAt,
    idempotencyKey: F.idempotencyKey,
    search: F.anySearch,
    filter: Schema.optionalKey(F.requiredFilter)
  }),
  output: Schema.Struct({
    deleted: F.anyCount("Rows."),
    forgotten: Schema.optionalKey(Schema.Int.annotate({ description: "Erased." })),
    restorable_until: F.anyText("In UTC."),
    ...F.matchedRows,
    change: F.writeTold.change,
    note: F.note,
    replayed: F.writeTold.replayed
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, actor) {
    const { all, filter, forever, ifUpdatedAt, search, table } = args
    if (args.dryRun === true && forever !== true && ifUpdatedAt === undefined) return yield* dryDelete(actor, args)
    const writes = yield* Writes
    const { notes } = yield* Rows
    const operation = { action: "delete", filter, search, all, forever, ifUpdatedAt } as const
    const write = notes.ofWrite({ table, filter }, actor, writes.write(actor, targetOf(args), operation))
    return yield* written(write, args.dryRun === true ? dryEvaluated : withoutNull)
  })
})

// One flat object for all actions: models fill in unions of objects badly, and some clients drop them.
const batchItem = Schema.Struct({
  action: F.oneOf(
    ["add", "upsert", "update_row", "update_where", "delete"],
    "add needs row; upsert key and row; update_row id, update_where filter, and both patch or edits; delete filter."
  ),
  id: Schema.optionalKey(F.id),
  key: Schema.optionalKey(F.key),
  allowMultiple: F.allowMultiple,
  ifUpdatedAt: F.ifUpdatedAtOrNone,
  idempotencyKey: F.idempotencyKey,
  search: F.anySearch,
  filter: Schema.optionalKey(F.requiredFilter),
  edits: F.edits,
  patch: F.patch,
  row: Schema.optionalKey(F.row)
})
type BatchItem = typeof batchItem.Type

const members = {
  add: { needs: ["row"], takes: ["idempotencyKey"] },
  upsert: { needs: ["key", "row"], takes: ["ifUpdatedAt"] },
  update_row: { needs: ["id"], takes: ["patch", "edits", "ifUpdatedAt"] },
  update_where: { needs: ["filter"], takes: ["search", "patch", "edits", "ifUpdatedAt", "allowMultiple"] },
  delete: { needs: ["filter"], takes: ["search", "ifUpdatedAt"] }
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
    ...Object.keys(item).flatMap((name) => (known.includes(name) ? [] : [fault(name, "not known")])),
    ...F.editFaults(item.edits, ["operations", index, "edits"])
  ]
}

/** A guard that says nothing, as models fill in what they leave out: only upsert takes null. */
const withoutNullGuard = (item: BatchItem): BatchItem => {
  const { ifUpdatedAt, ...others } = item
  return ifUpdatedAt === null && item.action !== "upsert" ? others : item
}

/** The operations that flat items stand for. At most 20 faults are told. */
const operationsOf = (given: ReadonlyArray<BatchItem>) => {
  const items = given.map(withoutNullGuard)
  const faults = items.flatMap(faultsOf).slice(0, 20)
  return faults.length === 0
    ? Effect.succeed(items as ReadonlyArray<BatchOperation>)
    : Effect.fail(invalidFields(faults))
}

/** A problem of one operation, which says in words too which it is. */
const ofOperation = (items: ReadonlyArray<BatchItem>) => (problem: FailureOf<"batch">) => {
  const { detail = "", operation } = problem
  if (operation === undefined || detail.startsWith("/operations/")) return problem
  const place = ("errors" in problem && problem.errors?.[0]?.path) || pointerTo(["operations", operation])
  return withMembers(problem, { detail: `${place} (${items[operation]!.action}): ${detail}` })
}

export const batch = tool({
  name: "batch",
  title: "Several changes at once",
  description:
    "Runs 1 to {limits.batchOperations} operations on one table in their order, all or nothing, as one write. Later ones see the changes of earlier ones.",
  hints: changesAnew,
  rows: ({ batchOperations }) => batchOperations,
  input: Schema.Struct({
    table: F.table,
    dryRun: F.dryRun,
    returnRows: F.returnRows,
    idempotencyKey: F.idempotencyKey,
    operations: Schema.Array(batchItem).annotate({
      description: "1 to {limits.batchOperations}.",
      ...bounded("batchOperations", "operations")
    })
  }),
  output: Schema.Struct({
    results: Schema.Array(
      Schema.Struct({
        index: F.count("From 0."),
        action: F.text("What it did."),
        result: F.exactObject(`Counts and ids, or with returnRows rows, up to about ${numberText(tokenBudget)} tokens.`)
      })
    ).annotate({ description: "One for each operation." }),
    dry_run: F.wasDryRun,
    has_more: F.anyFlag("Some rows are left out."),
    ...F.writeTold
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const operations = yield* operationsOf(args.operations)
    const { notes } = yield* Rows
    const batch = writes.batch(actor, targetOf(args), operations)
    const write = notes.ofBatch({ table: args.table, operations }, actor, batch)
    const shown = shownBy(args, boundedBatch, batchReceipt)
    return yield* written(Effect.mapError(write, ofOperation(args.operations)), (body) =>
      args.dryRun === true ? asDryRun(shown(body)) : shown(body)
    )
  })
})
