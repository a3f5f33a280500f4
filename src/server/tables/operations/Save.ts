import { Result } from "effect"
import type { JsonText } from "../../../domain/json/JsonText.ts"
import { members, membersByName, merge } from "../../../domain/json/Members.ts"
import { fieldsWithin, refusedClaim, type OwnFields } from "../../../domain/RowInput.ts"
import {
  EditConflict,
  FieldNotFound,
  FieldNotText,
  type ReservedField,
  type RowNotFound
} from "../../../domain/Problem.ts"
import type { Row } from "../../../domain/Row.ts"
import { noSuchRow, printRow, type OperationKind } from "./OperationKind.ts"
import { namesOf } from "./RowChanges.ts"

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
  addsRows: false,
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
