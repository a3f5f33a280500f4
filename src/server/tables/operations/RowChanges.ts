import { Result } from "effect"
import { Editor } from "../../../domain/edits/ApplyEdits.ts"
import { canonicalEdits, checkEdits, type CheckedEdits, type Edit, operatorNote } from "../../../domain/edits/Edit.ts"
import { guardOf, type Guard, type Guarded } from "../../../domain/Guard.ts"
import type { JsonProblem } from "../../../domain/ExactJson.ts"
import { JsonText } from "../../../domain/json/JsonText.ts"
import { members, membersByName, merge, type Member } from "../../../domain/json/Members.ts"
import { invalid, type InvalidRequest, type ReservedField, type RowTooLarge } from "../../../domain/Problem.ts"
import { fieldsWithin, refusedClaim, type OwnFields, type RowSize } from "../../../domain/RowInput.ts"
import type { Row } from "../../../domain/Row.ts"
import type { Pace, Turns } from "../../../domain/Turns.ts"
import type { RowMember } from "./OperationKind.ts"

/** What an update does to a row, as callers send it: a patch, then edits, or one of them. */
export interface SentChanges extends Guarded {
  readonly patch?: JsonText
  readonly edits?: ReadonlyArray<Edit>
}

export interface RowChanges {
  readonly patch: OwnFields
  readonly edits: CheckedEdits
  readonly guard: Guard | undefined
  /** What the response points out. */
  readonly note: string | undefined
}

const noPatch: OwnFields = { data: JsonText.trusted("{}"), claims: [] }
const noEdits: CheckedEdits = { list: [], growth: 0 }

/** Checks a patch and edits, of which an update needs one, and its guard. */
export const checkChanges = (
  { edits, ifMatch, ifUpdatedAt, patch }: SentChanges,
  size: RowSize,
  at: string
): Result.Result<RowChanges, JsonProblem | ReservedField | RowTooLarge> => {
  if (patch === undefined && (edits === undefined || edits.length === 0)) {
    return Result.fail(invalid(`${at}/patch`, "is required, or edits, or both"))
  }
  const guard = guardOf({ ifMatch, ifUpdatedAt }, at)
  if (Result.isFailure(guard)) return Result.fail(guard.failure)
  const fields = patch === undefined ? Result.succeed(noPatch) : fieldsWithin(patch, size, `${at}/patch`)
  if (Result.isFailure(fields)) return Result.fail(fields.failure)
  const checked = edits === undefined ? Result.succeed(noEdits) : checkEdits(edits, size, at)
  if (Result.isFailure(checked)) return Result.fail(checked.failure)
  const own = fields.success
  return Result.succeed({ patch: own, edits: checked.success, guard: guard.success, note: operatorNote(own.data) })
}

/** The members of the changes in one order and form. */
export const canonicalChanges = ({ edits, ifMatch, ifUpdatedAt, patch }: SentChanges) => ({
  patch,
  edits: canonicalEdits(edits),
  ifUpdatedAt,
  ifMatch
})

/** The member of a request that made a row too large. */
export const memberOf = ({ edits }: RowChanges): RowMember => (edits.list.length > 0 ? "/edits" : "/patch")

/** The most bytes that the changes lengthen a row by, and the fields that they set. */
export const growthOf = ({ edits, patch }: RowChanges) =>
  [patch.data.bytes + edits.growth, () => [...namesOf(patch.data), ...edits.list.map(({ field }) => field)]] as const

export const namesOf = (data: JsonText): ReadonlyArray<string> => members(data).map(({ name }) => name)

/** Makes one row after another what the changes make of it. */
export class Changer {
  private readonly changes: RowChanges
  private readonly members: ReadonlyMap<string, Member>
  private readonly editor: Editor

  constructor(changes: RowChanges) {
    this.changes = changes
    this.members = membersByName(changes.patch.data)
    this.editor = new Editor(changes.edits)
  }

  /** The row's new fields. `at` is the operation's JSON Pointer; `named` says whether it names the row. */
  *apply(
    row: Row,
    { at, named, pace }: { readonly at: string; readonly named: boolean; readonly pace: Pace }
  ): Turns<Result.Result<JsonText, InvalidRequest | ReservedField>> {
    const { patch } = this.changes
    const refused = refusedClaim(patch, row, `${at}/patch`)
    if (refused !== undefined) return Result.fail(refused)
    yield* pace.worked(row.data.text.length + patch.data.text.length)
    const patched = merge(row.data, this.members)
    return yield* this.editor.apply(patched, named ? { at } : { at, id: row.id }, pace)
  }
}
