import { Result } from "effect"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { members, membersByName, merge, type Member } from "../../../domain/json/Members.ts"
import {
  fieldsWithin,
  refusedClaim,
  type OwnFields,
  outsizedText,
  reserved,
  tooLarge,
  unquoted
} from "../../../domain/RowInput.ts"
import {
  EditConflict,
  FieldNotFound,
  FieldNotText,
  type ReservedField,
  type RowNotFound,
  IdempotencyKeyReused,
  AmbiguousKey,
  invalid
} from "../../../domain/Problem.ts"
import { type Row, rowText, systemFields } from "../../../domain/Row.ts"
import { noSuchRow, printRow, type OperationKind, forgottenAnswer, newRow, refusedByGuard } from "./OperationKind.ts"
import { namesOf } from "./RowChanges.ts"
import { guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import { filterOf, type Filter } from "../../../domain/Query.ts"
import { maxKeyNames } from "../../../domain/Limits.ts"

interface Edit<Fields> {
  readonly action: "save"
  readonly id: string
  /** What the row's `updated_at` must be, in milliseconds; undefined for whatever it is. */
  readonly updatedAt: number | undefined
  /** The whole new row, or a patch of it. */
  readonly fields: Fields
  readonly replaces: boolean
  /** The one field that is edited, which must hold a string; undefined for the whole row. */
  readonly textField: string | undefined
  /** The fields are those of an archived version, and the row's history says so. */
  readonly restores: boolean
}

/** A person's edit of a row that was read. */
export type SentSave = Edit<JsonText>
export type Save = Edit<OwnFields>

const memberOf = ({ replaces }: Edit<unknown>) => (replaces ? "/row" : "/patch")

export const save: OperationKind<
  SentSave,
  Save,
  Row,
  EditConflict | FieldNotFound | FieldNotText | ReservedField | RowNotFound
> = {
  fields: ({ fields }) => fields,
  check: (edit, size, at) =>
    Result.map(fieldsWithin(edit.fields, size, at + memberOf(edit)), (fields) => ({ ...edit, fields })),
  canonical: (edit) => edit,
  selects: ({ id }) => ({ id }),
  forecast: ({ fields, replaces }, forecast) =>
    replaces ? forecast.bring(fields.data) : forecast.patchRow(fields.data.bytes, () => namesOf(fields.data)),
  apply(write, { changedBy, now, table, workspace }, at) {
    const { fields, id, replaces, restores, textField, updatedAt } = write
    const row = workspace.live(table, id)
    if (row === undefined) return Result.fail(noSuchRow(table))
    const stored = row.content!
    if (updatedAt !== undefined && updatedAt !== stored.updatedAt) {
      return Result.fail(new EditConflict({ detail: "The row was changed after it was read." }))
    }
    if (textField !== undefined) {
      const field = members(stored.data).find(({ name }) => name === textField)
      if (field === undefined) return Result.fail(new FieldNotFound({ detail: "The row no longer has this field." }))
      if (field.value[0] !== '"') {
        return Result.fail(new FieldNotText({ detail: "The field no longer holds text." }))
      }
    }
    const refused = refusedClaim(fields, row.row, at + memberOf(write))
    if (refused !== undefined) return Result.fail(refused)
    const data = replaces ? fields.data : merge(stored.data, membersByName(fields.data))
    if (data.text !== stored.data.text) workspace.replace(row, data, restores ? "restore" : "update", changedBy, now)
    return Result.succeed(row.row)
  },
  print: (row) => printRow(row),
  rowMember: memberOf
}

/** A new row. In a batch it may have its own idempotency key. */
export interface SentAdd {
  readonly action: "add"
  readonly row: JsonText
  readonly idempotencyKey?: string
  /** The JSON Pointer of the row in the request, where that is not the member `row`. */
  readonly rowPath?: string
}

export interface Add {
  readonly action: "add"
  readonly row: JsonText
  readonly idempotencyKey: string | undefined
}

export const add: OperationKind<SentAdd, Add, JsonText, ReservedField> = {
  addsRows: true,
  check: ({ idempotencyKey, row, rowPath }, { limit }, at) => {
    const path = rowPath ?? `${at}/row`
    const outsized = outsizedText(row, { limit, longest: limit }, path)
    if (outsized !== undefined) return Result.fail(outsized)
    const named = members(row).find((member) => systemFields.has(member.name))
    if (named !== undefined) {
      return Result.fail(reserved(named.name, path, `${named.name} is set by the service and cannot be sent.`))
    }
    if (row.bytes > limit) return Result.fail(tooLarge(row.bytes, limit, path))
    return Result.succeed({ action: "add", row, idempotencyKey: unquoted(idempotencyKey) })
  },
  canonical: ({ action, idempotencyKey, row }) => ({ action, row, idempotencyKey: unquoted(idempotencyKey) }),
  ownKey: ({ idempotencyKey }) => idempotencyKey,
  forecast: ({ row }, forecast) => forecast.bring(row),
  apply({ idempotencyKey: key, row: data }, context) {
    const record = key === undefined ? undefined : context.addRecord(key)
    if (record !== undefined) {
      if (record.requestHash !== context.hash(data.text)) {
        return Result.fail(new IdempotencyKeyReused({ detail: "This idempotencyKey was used to add another row." }))
      }
      return record.body === undefined ? Result.fail(forgottenAnswer()) : Result.succeed(record.body)
    }
    const row = rowText(context.workspace.insert(context.table, newRow(data, context), context.changedBy).row)
    if (key !== undefined) context.saveAddRecord(key, context.hash(data.text), row)
    return Result.succeed(row)
  },
  print: (row) => row
}

/** A row that replaces the one whose `key` fields have the same values, or is new. */
export interface SentUpsert extends Guarded {
  readonly action: "upsert"
  readonly key: string | ReadonlyArray<string>
  readonly row: JsonText
}

export interface Upsert {
  readonly action: "upsert"
  readonly natural: Filter
  readonly row: OwnFields
  readonly guard: Guard | undefined
}

export const upsert: OperationKind<
  SentUpsert,
  Upsert,
  { readonly created: boolean; readonly row: Row },
  AmbiguousKey | EditConflict | ReservedField
> = {
  addsRows: true,
  fields: ({ row }) => row,
  check: ({ ifMatch, ifUpdatedAt, key, row }, size, at) => {
    const guard = guardOf({ ifMatch, ifUpdatedAt }, at)
    if (Result.isFailure(guard)) return Result.fail(guard.failure)
    const own = fieldsWithin(row, size, `${at}/row`)
    if (Result.isFailure(own)) return Result.fail(own.failure)
    const names = typeof key === "string" ? [key] : key
    if (names.length > maxKeyNames) {
      return Result.fail(invalid(`${at}/key`, `names ${names.length} fields, and the limit is ${maxKeyNames}`))
    }
    const fields = new Map(members(own.success.data).map((member) => [member.name, member]))
    const natural = new Map<string, Member>()
    for (const [index, name] of names.entries()) {
      const quoted = JSON.stringify(name.slice(0, 100))
      if (systemFields.has(name)) {
        return Result.fail(invalid(`${at}/key`, `names the system field ${name}; use update_row`))
      }
      if (natural.has(name)) return Result.fail(invalid(`${at}/key/${index}`, `names ${quoted} a second time`))
      const field = fields.get(name)
      if (field === undefined) return Result.fail(invalid(`${at}/key`, `names ${quoted}, which is not in row`))
      if (field.value === "null" || field.value[0] === "{" || field.value[0] === "[") {
        return Result.fail(invalid(`${at}/row`, `has no string, number or boolean in the key field ${quoted}`))
      }
      natural.set(name, field)
    }
    const filter = filterOf([...natural.values()])
    return Result.succeed({ action: "upsert", natural: filter, row: own.success, guard: guard.success })
  },
  canonical: ({ action, ifMatch, ifUpdatedAt, key, row }) => ({
    action,
    key: typeof key === "string" ? [key] : key,
    row,
    ifUpdatedAt,
    ifMatch
  }),
  selects: ({ natural }) => ({ filter: natural }),
  forecast: ({ row }, forecast) => forecast.bring(row.data),
  *apply(write, context, at) {
    const { changedBy, now, table, workspace } = context
    const matches = yield* workspace.find(table, write.natural)
    if (matches.length > 1) {
      const detail = `${matches.length} rows match the natural key; an upsert replaces exactly one.`
      return Result.fail(new AmbiguousKey({ detail, matches: matches.length }))
    }
    const found = matches[0]
    const conflict = refusedByGuard(write.guard, found?.row)
    if (conflict !== undefined) return Result.fail(conflict)
    const refused = refusedClaim(write.row, found?.row, `${at}/row`)
    if (refused !== undefined) return Result.fail(refused)
    if (found === undefined) {
      const { row } = workspace.insert(table, newRow(write.row.data, context), changedBy)
      return Result.succeed({ created: true, row })
    }
    workspace.replace(found, write.row.data, "update", changedBy, now)
    return Result.succeed({ created: false, row: found.row })
  },
  print: ({ created, row }) => JsonText.trusted(`{"created":${created},"row":${rowText(row).text}}`),
  rowMember: () => "/row"
}
