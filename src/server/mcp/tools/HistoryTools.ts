import { Effect, Option, Schema } from "effect"
import type { Actor } from "../../../domain/Actor.ts"
import { changePlaceOf, changeText, cursorAfterChange } from "../../../domain/Change.ts"
import { defaultQueryLimit } from "../../../domain/Limits.ts"
import { invalid } from "../../../domain/Problem.ts"
import {
  currentText,
  cursorAfterDeleted,
  timedPlaceOf,
  versionText,
  type Version,
  rowText
} from "../../../domain/Row.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { Changes } from "../../versions/Changes.ts"
import { Rows } from "../../tables/Rows.ts"
import { Writes } from "../../tables/Writes.ts"
import { noteMember } from "../../tables/operations/OperationKind.ts"
import { Versions } from "../../versions/Versions.ts"
import { asDryRun, rowOrReceipt, written } from "../Receipts.ts"
import { cutRow, rowBytes, withinBudget } from "../Results.ts"
import { changesAnew, reads, targetOf, tool } from "../Tool.ts"
import * as F from "../ToolFields.ts"

const more = (cursor: string | undefined) =>
  cursor === undefined ? '"has_more":false' : `"has_more":true,"next_cursor":"${cursor}"`

/** As many versions as one answer holds, of which the first is cut where it is too long, and what is to be said of that. */
const shownVersions = (versions: ReadonlyArray<Version>) => {
  const [first, ...others] = versions
  if (first === undefined) return { shown: [], said: undefined }
  const text = versionText(first)
  const row = rowText(first.row).text
  const cut = cutRow(row, rowBytes)
  const begun = cut === undefined ? text : `${text.slice(0, -1 - row.length)}${cut.text}}`
  const said = cut && `Version ${first.version}: ${cut.said} restore brings it back whole.`
  return { shown: withinBudget([begun, ...others.map(versionText)]), said }
}

/** The last change of the row with an id, and its versions. */
const ofRow = Effect.fnUntraced(function* (actor: Actor, table: string, id: string) {
  const versions = yield* Versions
  const found = yield* versions.read(actor, table, id)
  const live = found.current === undefined ? "" : `,"current":${currentText(found.current)}`
  if (found.versions.length > 0) {
    const { said, shown } = shownVersions(found.versions)
    const left = found.versions.slice(shown.length).map(({ version }) => version)
    const rest = left.length === 0 ? [] : [`Left out: ${left.join(", ")}; restore takes these numbers, too.`]
    const note = noteMember([said ?? [], rest].flat().join(" ") || undefined)
    return JsonText.trusted(`{"versions":[${shown.join()}],"has_more":${left.length > 0}${live}${note}}`)
  }
  const note =
    found.current === undefined
      ? "No row or version in this table has this id."
      : "The row was never changed, or its versions have expired."
  return JsonText.trusted(`{"versions":[],"has_more":false${live},"note":"${note}"}`)
})

/** Why nothing may be listed of a table, as a member of the result. */
const noteOfTable = Effect.fnUntraced(function* (actor: Actor, table: string, shown: ReadonlyArray<string>) {
  const { notes } = yield* Rows
  return noteMember(shown.length > 0 ? undefined : yield* notes.ofNothing({ table, filter: undefined }, actor))
})

const badCursor = invalid("/cursor", "must be the next_cursor of an earlier result of the same call")

/** The rows of a table that are deleted, each as the version to restore. */
const ofDeleted = Effect.fnUntraced(function* (actor: Actor, table: string, cursor: string | undefined) {
  const after = cursor === undefined ? undefined : Option.getOrUndefined(timedPlaceOf(cursor))
  if (cursor !== undefined && after === undefined) return yield* badCursor
  const versions = yield* Versions
  const found = yield* versions.readDeleted(actor, table, { limit: defaultQueryLimit, after })
  const { said, shown } = shownVersions(found.versions)
  const last = found.versions[shown.length - 1]
  const isCut = found.hasMore || shown.length < found.versions.length
  const next = isCut && last !== undefined ? cursorAfterDeleted(last) : undefined
  const note = said === undefined ? yield* noteOfTable(actor, table, shown) : noteMember(said)
  return JsonText.trusted(`{"versions":[${shown.join()}],${more(next)}${note}}`)
})

/** The changes of a table, newest first. */
const ofTable = Effect.fnUntraced(function* (actor: Actor, table: string, cursor: string | undefined) {
  const after = cursor === undefined ? undefined : Option.getOrUndefined(changePlaceOf(cursor))
  if (cursor !== undefined && after === undefined) return yield* badCursor
  const changes = yield* Changes
  const found = yield* changes.read(actor, { table, limit: defaultQueryLimit, after })
  const shown = withinBudget(found.changes.map(changeText))
  const last = found.changes[shown.length - 1]
  const isCut = found.next !== undefined || shown.length < found.changes.length
  const next =
    isCut && last !== undefined
      ? cursorAfterChange({ change: last.change, place: last.place, oldestFirst: after?.oldestFirst ?? false })
      : undefined
  return JsonText.trusted(`{"changes":[${shown.join()}],${more(next)}${yield* noteOfTable(actor, table, shown)}}`)
})

export const versions = tool({
  name: "versions",
  title: "See what changed, and by whom",
  description:
    "With id: a row's archived versions, the last {limits.versionsPerRow} for {limits.versionDays}, and who replaced them. Without: the table's changes; rows of one write share its change number. With deleted: the rows that can be restored.",
  hints: reads,
  input: Schema.Struct({
    table: F.table,
    id: Schema.optionalKey(F.id),
    deleted: F.anyFlag("true lists deleted rows, without id."),
    cursor: F.anyText("next_cursor of the result before.")
  }),
  output: Schema.Struct({
    versions: F.anyObjects(
      "version, id, table, operation, change, changed_by, archived_at, expires_at, row",
      "Newest first."
    ),
    changes: F.anyObjects("change, at, table, operation, row_id, changed_by, version", "Newest first."),
    has_more: F.flag("There is more."),
    next_cursor: F.nextCursor,
    current: Schema.optionalKey(F.exactObject("Of a live row: updated_at, change, changed_by")),
    note: F.anyText("Why there are none.")
  }),
  run: Effect.fnUntraced(function* ({ cursor, deleted, id, table }, actor) {
    if (id === undefined)
      return yield* deleted === true ? ofDeleted(actor, table, cursor) : ofTable(actor, table, cursor)
    if (deleted === true) return yield* invalid("/deleted", "lists all deleted rows, so it is not taken with id")
    if (cursor !== undefined) return yield* invalid("/cursor", "is not taken with id")
    return yield* ofRow(actor, table, id)
  })
})

export const restore = tool({
  name: "restore",
  title: "Undo a change, or restore an old version",
  description:
    "With change alone: undoes one whole write, if none of its rows changed since; try dryRun first. With table, id and version: brings back that version of a live or deleted row. Either can be undone.",
  hints: changesAnew,
  input: Schema.Struct({
    table: Schema.optionalKey(F.table),
    id: Schema.optionalKey(F.id.annotate({ description: "From versions or delete." })),
    version: F.version,
    change: F.change,
    dryRun: F.anyFlag("With change: true tells what it would do."),
    ...F.guardedWrite
  }),
  output: Schema.Struct({
    ...F.writtenRow,
    undone: F.anyCount("The undone change."),
    rows: F.anyObjects("table, operation, row_id", "What the undo did."),
    dry_run: F.wasDryRun,
    ...F.writeTold
  }),
  isRead: ({ change, dryRun }) => change !== undefined && dryRun === true,
  run: Effect.fnUntraced(function* ({ change, id, ifUpdatedAt, table, version, ...args }, actor) {
    const writes = yield* Writes
    if (change !== undefined) {
      const given = Object.entries({ id, version, ifUpdatedAt }).find(([, value]) => value !== undefined)
      if (given !== undefined) return yield* invalid(`/${given[0]}`, "is not taken with change")
      const isDryRun = args.dryRun === true
      const undo = writes.undo(actor, { idempotencyKey: args.idempotencyKey, isDryRun }, change)
      // The answer of an undo tells its own number.
      return yield* written(
        Effect.map(undo, (result) => ({ ...result, change: undefined })),
        (body) => (isDryRun ? asDryRun(body) : body)
      )
    }
    if (args.dryRun !== undefined) return yield* invalid("/dryRun", "is taken with change only")
    if (table === undefined) return yield* invalid("/table", "is required, unless change is given")
    if (id === undefined) return yield* invalid("/id", "is required, unless change is given")
    if (version === undefined) return yield* invalid("/version", "is required, unless change is given")
    const target = targetOf({ ...args, table })
    const restored = writes.write(actor, target, { action: "restore", id, version, ifUpdatedAt })
    return yield* written(restored, rowOrReceipt(args))
  })
})
