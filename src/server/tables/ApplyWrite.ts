import { Result } from "effect"
import type { Facets } from "../../domain/facets/Facets.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { members, membersByName, merge, type Member } from "../../domain/json/Members.ts"
import {
  AmbiguousKey,
  EditConflict,
  FieldNotFound,
  FieldNotText,
  type FieldIssue,
  IdempotencyKeyReused,
  IdExists,
  MultipleMatches,
  type RequestTooLarge,
  type ReservedField,
  RowNotFound,
  type RowTooLarge,
  type StorageLimit,
  VersionNotFound
} from "../../domain/Problem.ts"
import { isRowId, rowText, type Row } from "../../domain/Row.ts"
import { refusedClaim, type OwnFields, type Write } from "../../domain/Write.ts"
import type { Holder } from "./FindHolders.ts"
import type { Turns } from "./Turns.ts"
import type { WorkRow } from "./Workspace.ts"
import { type Workspace } from "./Workspace.ts"

/** A version that a restore asks for, and how far the row's numbers have come. */
export interface Restorable {
  readonly row: WorkRow
  readonly versions: ReadonlyMap<number, JsonText>
}

/** What writes act on beside the workspace: who changes, when, and what was loaded for them. */
export interface WriteContext {
  readonly workspace: Workspace
  readonly table: string
  readonly changedBy: string
  readonly now: number
  readonly newId: () => string
  readonly versionsPerRow: number
  readonly restorable: (id: string) => Restorable | undefined
  /** Of the ids of an import: all rows that have, or had, this one. */
  readonly holders: (id: string) => ReadonlyArray<Holder>
  readonly addRecord: (key: string) => { readonly rowHash: string; readonly answer: JsonText } | undefined
  readonly saveAddRecord: (key: string, row: JsonText, answer: JsonText) => void
  readonly hash: (text: string) => string
  /** Counts what the request has made of a row of so many bytes; the refusal once there can be no room for all of it. */
  readonly count: (bytes: number, before: number) => LimitProblem | undefined
}

/** Why a write stops while it is carried out, which its end state would be refused for all the more. */
type LimitProblem = RequestTooLarge | RowTooLarge | StorageLimit

export type ApplyProblem =
  | AmbiguousKey
  | EditConflict
  | FieldNotFound
  | FieldNotText
  | IdempotencyKeyReused
  | IdExists
  | LimitProblem
  | MultipleMatches
  | ReservedField
  | RowNotFound
  | VersionNotFound

type Applied = Result.Result<JsonText, ApplyProblem>

const answer = (text: string): Applied => Result.succeed(JsonText.trusted(text))

const rowNotFound = (detail: string) => Result.fail(new RowNotFound({ detail }))

/**
 * Carries out one write in the workspace and gives the body of its answer, the specification's of the single operation.
 * A failure may leave the workspace half changed: the caller undoes it. Limits are the caller's too.
 */
export function* applyWrite(write: Write, context: WriteContext, at: string): Turns<Applied> {
  switch (write.action) {
    case "add":
      return add(write.row, write.idempotencyKey, context)
    case "upsert":
      return yield* upsert(write, context, at)
    case "update_row":
      return updateRow(write.id, write.patch, context, at)
    case "update_where":
      return yield* updateWhere(write, context, at)
    case "delete": {
      const matches = yield* context.workspace.find(context.table, write.filter)
      for (const row of matches) context.workspace.replace(row, undefined, "delete", context.changedBy, context.now)
      return answer(`{"deleted":${matches.length}}`)
    }
    case "restore":
      return restore(write.id, write.version, context)
    case "save":
      return save(write, context, at)
    case "import":
      return yield* importRows(write.tables, context)
  }
}

const newRow = (data: JsonText, { newId, now }: WriteContext): Row => ({
  id: newId(),
  createdAt: now,
  updatedAt: now,
  data
})

const add = (data: JsonText, key: string | undefined, context: WriteContext): Applied => {
  const record = key === undefined ? undefined : context.addRecord(key)
  if (record !== undefined) {
    if (record.rowHash === context.hash(data.text)) return Result.succeed(record.answer)
    return Result.fail(new IdempotencyKeyReused({ detail: "This idempotencyKey was used to add another row." }))
  }
  const { table, workspace } = context
  const row = rowText(workspace.insert(table, newRow(data, context)).row)
  if (key !== undefined) context.saveAddRecord(key, data, row)
  return Result.succeed(row)
}

function* upsert(write: Write & { action: "upsert" }, context: WriteContext, at: string): Turns<Applied> {
  const { changedBy, now, table, workspace } = context
  const matches = yield* workspace.find(table, write.natural)
  if (matches.length > 1) {
    return Result.fail(
      new AmbiguousKey({
        detail: `${matches.length} rows match the natural key; an upsert replaces exactly one.`,
        matches: matches.length
      })
    )
  }
  const found = matches[0]
  const refused = refusedClaim(write.row, found?.row, `${at}/row`)
  if (refused !== undefined) return Result.fail(refused)
  if (found === undefined) {
    const row = workspace.insert(table, newRow(write.row.data, context))
    return answer(`{"created":true,"row":${rowText(row.row).text}}`)
  }
  workspace.replace(found, write.row.data, "update", changedBy, now)
  return answer(`{"created":false,"row":${rowText(found.row).text}}`)
}

const patchRow = (
  row: WorkRow,
  patch: ReadonlyMap<string, Member>,
  { changedBy, now, workspace }: WriteContext
): void => workspace.replace(row, merge(row.content!.data, patch), "update", changedBy, now)

const updateRow = (id: string, patch: OwnFields, context: WriteContext, at: string): Applied => {
  const row = context.workspace.live(context.table, id)
  if (row === undefined) return rowNotFound(`The table ${context.table} has no row with this id.`)
  const refused = refusedClaim(patch, row.row, `${at}/patch`)
  if (refused !== undefined) return Result.fail(refused)
  patchRow(row, membersByName(patch.data), context)
  return answer(`{"row":${rowText(row.row).text}}`)
}

const save = (write: Write & { action: "save" }, context: WriteContext, at: string): Applied => {
  const { fields, id, replaces, textField, updatedAt } = write
  const row = context.workspace.live(context.table, id)
  if (row === undefined) return rowNotFound(`The table ${context.table} has no row with this id.`)
  const stored = row.content!
  if (updatedAt !== undefined && updatedAt !== stored.updatedAt) {
    return Result.fail(new EditConflict({ detail: "The row was changed after it was read." }))
  }
  if (textField !== undefined) {
    const field = members(stored.data).find(({ name }) => name === textField)
    if (field === undefined) return Result.fail(new FieldNotFound({ detail: "The row no longer has this field." }))
    if (field.value[0] !== '"') return Result.fail(new FieldNotText({ detail: "The field no longer holds text." }))
  }
  const refused = refusedClaim(fields, row.row, `${at}/${replaces ? "row" : "patch"}`)
  if (refused !== undefined) return Result.fail(refused)
  const data = replaces ? fields.data : merge(stored.data, membersByName(fields.data))
  if (data.text !== stored.data.text) {
    context.workspace.replace(row, data, write.restores ? "restore" : "update", context.changedBy, context.now)
  }
  return answer(`{"row":${rowText(row.row).text}}`)
}

function* updateWhere(write: Write & { action: "update_where" }, context: WriteContext, at: string): Turns<Applied> {
  const matches = yield* context.workspace.find(context.table, write.filter)
  if (matches.length === 0 && !write.allowMultiple) {
    return rowNotFound(`No row of the table ${context.table} matches the filter.`)
  }
  if (matches.length > 1 && !write.allowMultiple) {
    return Result.fail(
      new MultipleMatches({
        detail: `${matches.length} rows match, and allowMultiple is not true.`,
        matches: matches.length
      })
    )
  }
  for (const row of matches) {
    const refused = refusedClaim(write.patch, row.row, `${at}/patch`)
    if (refused !== undefined) return Result.fail(refused)
  }
  const patch = membersByName(write.patch.data)
  for (const row of matches) {
    const before = row.content!.data.bytes
    patchRow(row, patch, context)
    const refused = context.count(row.content!.data.bytes, before)
    if (refused !== undefined) return Result.fail(refused)
    yield* context.workspace.pace.worked(row.content!.data.text.length + write.patch.data.text.length)
  }
  // Concatenated, the rows are referred to; joined, they would be copied.
  let rows = ""
  for (const row of matches) rows += (rows === "" ? "" : ",") + rowText(row.row).text
  return answer(`{"updated":${matches.length},"rows":[${rows}]}`)
}

const restore = (id: string, version: number, context: WriteContext): Applied => {
  const { changedBy, now, table, versionsPerRow, workspace } = context
  const restorable = context.restorable(id)
  const row = workspace.rows.get(id) ?? restorable?.row
  const archivedNow = workspace.archived.find((one) => one.place.id === id && one.version === version)
  const data = archivedNow?.content.data ?? restorable?.versions.get(version)
  const isRetained = row !== undefined && row.place.table === table && version > row.lastVersion - versionsPerRow
  if (!isRetained || data === undefined) {
    return Result.fail(new VersionNotFound({ detail: "The row has no such version, or it is no longer kept." }))
  }
  workspace.load(row)
  workspace.replace(row, data, "restore", changedBy, now)
  return answer(`{"row":${rowText(row.row).text}}`)
}

const maxNamed = 10

// In the workspace, as in links and answers, an id alone says which row is meant: it is one row's, whatever its table.
function* importRows(
  tables: ReadonlyMap<string, ReadonlyArray<Row>>,
  { holders, workspace }: WriteContext
): Turns<Applied> {
  const places: Array<FieldIssue> = []
  let [matches, count] = [0, 0]
  for (const [table, rows] of tables) {
    for (const [index, row] of rows.entries()) {
      const before = holders(row.id)
      const own = before.find((holder) => holder.table === table)
      const live = before.find((holder) => holder.isLive)
      const other = live ?? before.find((holder) => holder.isRestorable && holder !== own)
      if (other === undefined) {
        workspace.insert(table, row, own?.lastVersion)
        count++
        yield* workspace.pace.worked(row.data.text.length)
        continue
      }
      if (++matches > maxNamed) continue
      const message = other.isLive
        ? `is the id of a row of the table ${other.table}`
        : `is the id of a row that was deleted from the table ${other.table}, and can be restored there`
      places.push({ path: `/tables/${table}/${index}/id`, message })
    }
  }
  if (matches === 0) {
    const filled = [...tables.values()].filter((rows) => rows.length > 0)
    return answer(`{"tables":${filled.length},"rows":${count}}`)
  }
  const detail = `${matches} of the rows to import ${matches === 1 ? "has an id" : "have ids"} that the account has already.`
  return Result.fail(new IdExists({ detail, errors: places, matches }))
}

/** The rows that a write may act on, as the database must find them. */
export interface Selector {
  readonly table: string
  readonly id: string | undefined
  readonly createdAt: number | undefined
  readonly updatedAt: number | undefined
  readonly fields: Facets
}

const everyField: Facets = { short: "{}", long: null }

export const selectorOf = (write: Write, table: string): Selector | undefined => {
  switch (write.action) {
    case "add":
    case "import":
      return undefined
    case "update_row":
    case "restore":
    case "save":
      if (!isRowId(write.id)) return undefined
      return { table, id: write.id, createdAt: undefined, updatedAt: undefined, fields: everyField }
    case "upsert":
      return { table, id: undefined, createdAt: undefined, updatedAt: undefined, fields: write.natural.fields }
    case "update_where":
    case "delete":
      return write.filter.isImpossible ? undefined : { table, ...write.filter }
  }
}
