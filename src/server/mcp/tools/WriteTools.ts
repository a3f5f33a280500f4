import { Effect, Schema } from "effect"
import { numberText } from "../../../domain/Amounts.ts"
import { bounded } from "../../../domain/ExactJson.ts"
import { type FieldIssue, invalidFields, withMembers } from "../../../domain/Problem.ts"
import { pointerTo } from "../../../domain/json/JsonIssue.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { Rows } from "../../tables/Rows.ts"
import { type FailureOf, type BatchOperation, Writes } from "../../tables/Writes.ts"
import {
  boundedBatch,
  boundedUpdate,
  dryDelete,
  dryEvaluated,
  dryRefusedUpdate,
  dryUpdate,
  shownBy,
  tokenBudget,
  written
} from "../Results.ts"
import { batchReceipt, receipt, changes, changesAnew, targetOf, tool } from "../Tool.ts"
import * as E from "../EditFields.ts"
import * as F from "../ToolFields.ts"

const asItIs = (body: JsonText): JsonText => body

export const upsert = tool({
  name: "upsert",
  title: "Save or replace a row",
  description:
    "Inserts a row, or replaces the whole row with the same key values: fields left out are removed. To change a key's value, use update_row.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    key: F.key,
    returnRows: Schema.optionalKey(F.returnRows),
    ifUpdatedAt: Schema.optionalKey(E.ifUpdatedAtOrNone),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    row: F.row
  }),
  output: Schema.Struct({
    created: Schema.Boolean.annotate({ description: "false: replaced." }),
    ...F.writtenRow,
    change: F.changeTold,
    replayed: F.replayed
  }),
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const { ifUpdatedAt, key, row } = args
    const operation = { action: "upsert", key, row, ifUpdatedAt } as const
    return yield* written(writes.write(actor, targetOf(args), operation), shownBy(args, asItIs, receipt))
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
    returnRows: Schema.optionalKey(F.returnRows),
    ifUpdatedAt: Schema.optionalKey(E.ifUpdatedAt),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    edits: Schema.optionalKey(E.edits),
    patch: Schema.optionalKey(F.patch)
  }),
  output: Schema.Struct({ ...F.writtenRow, note: E.note, change: F.changeTold, replayed: F.replayed }),
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const { idempotencyKey: _key, returnRows: _rows, table: _table, ...changes } = yield* E.withEdits(args)
    const operation = { action: "update_row", ...changes } as const
    return yield* written(writes.write(actor, targetOf(args), operation), shownBy(args, asItIs, receipt))
  })
})

const dryRunFields = {
  dry_run: Schema.optionalKey(Schema.Boolean.annotate({ description: "Nothing was changed." })),
  matched: Schema.optionalKey(F.count("How many rows match.")),
  ids: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "Of the rows, at most 500." })),
  has_more: Schema.optionalKey(Schema.Boolean.annotate({ description: "Rows or ids are left out." }))
}

export const updateWhere = tool({
  name: "update_where",
  title: "Change rows by their values",
  description:
    "Changes the row that matches a non-empty filter, by patch, edits or both; several rows only with allowMultiple.",
  hints: changes,
  input: Schema.Struct({
    table: F.table,
    allowMultiple: Schema.optionalKey(F.allowMultiple),
    dryRun: Schema.optionalKey(F.dryRun),
    returnRows: Schema.optionalKey(F.returnRows),
    ifUpdatedAt: Schema.optionalKey(E.ifUpdatedAt),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    search: Schema.optionalKey(F.search),
    filter: F.requiredFilter,
    edits: Schema.optionalKey(E.edits),
    patch: Schema.optionalKey(F.patch)
  }),
  output: Schema.Struct({
    updated: Schema.optionalKey(F.count("How many rows were changed.")),
    rows: Schema.optionalKey(F.storedRows),
    ...dryRunFields,
    ids: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "Of the rows, at most 500." })),
    needs_allow_multiple: Schema.optionalKey(
      Schema.Boolean.annotate({
        description: "Several rows match."
      })
    ),
    note: E.note,
    change: F.changeTold,
    replayed: F.replayed
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const { allowMultiple, dryRun: _dry, idempotencyKey: _key, ...others } = yield* E.withEdits(args)
    const { returnRows: _rows, table: _table, ...changes } = others
    const operation = { action: "update_where", ...changes, allowMultiple: allowMultiple === true } as const
    const { notes } = yield* Rows
    const write = notes.ofWrite(args, actor, writes.write(actor, targetOf(args), operation))
    if (args.dryRun !== true) return yield* written(write, shownBy(args, boundedUpdate, receipt))
    return yield* written(write, dryUpdate).pipe(
      Effect.catchTag("MultipleMatches", () => dryRefusedUpdate(actor, args))
    )
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
    dryRun: Schema.optionalKey(F.dryRun),
    all: Schema.optionalKey(Schema.Boolean.annotate({ description: "true, without filter: every row." })),
    forever: Schema.optionalKey(Schema.Boolean.annotate({ description: "true deletes for good." })),
    ifUpdatedAt: Schema.optionalKey(E.ifUpdatedAt),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    search: Schema.optionalKey(F.search),
    filter: Schema.optionalKey(F.requiredFilter)
  }),
  output: Schema.Struct({
    deleted: Schema.optionalKey(F.count("Rows.")),
    forgotten: Schema.optionalKey(Schema.Int.annotate({ description: "Erased." })),
    restorable_until: Schema.optionalKey(Schema.String.annotate({ description: "In UTC." })),
    ...dryRunFields,
    ids: Schema.optionalKey(Schema.Array(Schema.String).annotate({ description: "Of the rows, at most 500." })),
    change: F.changeTold,
    note: Schema.optionalKey(F.note),
    replayed: F.replayed
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, actor) {
    const { all, filter, forever, ifUpdatedAt, search, table } = args
    if (args.dryRun === true && forever !== true && ifUpdatedAt === undefined) return yield* dryDelete(actor, args)
    const writes = yield* Writes
    const { notes } = yield* Rows
    const operation = { action: "delete", filter, search, all, forever, ifUpdatedAt } as const
    const write = writes.write(actor, targetOf(args), operation)
    return yield* written(
      notes.ofWrite({ table, filter }, actor, write),
      args.dryRun === true ? dryEvaluated : withoutNull
    )
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
  allowMultiple: Schema.optionalKey(F.allowMultiple),
  ifUpdatedAt: Schema.optionalKey(E.ifUpdatedAtOrNone),
  idempotencyKey: Schema.optionalKey(F.idempotencyKey),
  search: Schema.optionalKey(F.search),
  filter: Schema.optionalKey(F.requiredFilter),
  edits: Schema.optionalKey(E.edits),
  patch: Schema.optionalKey(F.patch),
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
    ...E.editFaults(item.edits, ["operations", index, "edits"])
  ]
}

const maxFaults = 20

/** A guard that says nothing, as models fill in what they leave out: only upsert takes null. */
const withoutNullGuard = (item: BatchItem): BatchItem => {
  const { ifUpdatedAt, ...others } = item
  return ifUpdatedAt === null && item.action !== "upsert" ? others : item
}

/** The operations that flat items stand for. */
const operationsOf = (given: ReadonlyArray<BatchItem>) => {
  const items = given.map(withoutNullGuard)
  const faults = items.flatMap(faultsOf)
  return faults.length === 0
    ? Effect.succeed(items as ReadonlyArray<BatchOperation>)
    : Effect.fail(invalidFields(faults.slice(0, maxFaults)))
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
    dryRun: Schema.optionalKey(F.dryRun),
    returnRows: Schema.optionalKey(F.returnRows),
    idempotencyKey: Schema.optionalKey(F.idempotencyKey),
    operations: Schema.Array(batchItem).annotate({
      description: "1 to {limits.batchOperations}.",
      ...bounded("batchOperations", "operations")
    })
  }),
  output: Schema.Struct({
    results: Schema.Array(
      Schema.Struct({
        index: F.count("From 0."),
        action: Schema.String.annotate({ description: "What it did." }),
        result: F.exactObject(`Counts and ids, or with returnRows rows, up to about ${numberText(tokenBudget)} tokens.`)
      })
    ).annotate({ description: "One for each operation." }),
    dry_run: Schema.optionalKey(Schema.Boolean.annotate({ description: "Nothing was changed." })),
    has_more: Schema.optionalKey(Schema.Boolean.annotate({ description: "Some rows are left out." })),
    change: F.changeTold,
    replayed: F.replayed
  }),
  isRead: ({ dryRun }) => dryRun === true,
  run: Effect.fnUntraced(function* (args, actor) {
    const writes = yield* Writes
    const operations = yield* operationsOf(args.operations)
    const { notes } = yield* Rows
    const write = notes.ofBatch(
      { table: args.table, operations },
      actor,
      writes.batch(actor, targetOf(args), operations)
    )
    return yield* written(Effect.mapError(write, ofOperation(args.operations)), (body) => {
      const shown = shownBy(args, boundedBatch, batchReceipt)(body)
      return args.dryRun === true ? JsonText.trusted(`{"dry_run":true,${shown.text.slice(1)}`) : shown
    })
  })
})
