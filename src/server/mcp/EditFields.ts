import { Effect, Schema } from "effect"
import type { Edit } from "../../domain/edits/Edit.ts"
import { exactNumber, exactValue } from "../../domain/ExactJson.ts"
import { maxEdits } from "../../domain/Limits.ts"
import { invalidFields, type FieldIssue } from "../../domain/Problem.ts"
import { pointerTo } from "../../domain/json/JsonIssue.ts"
import { oneOf } from "./ToolFields.ts"

const text = (description: string) => Schema.optionalKey(Schema.String.annotate({ description }))

// One flat object for all ops: models fill in unions of objects badly, and some clients drop them.
const Edit = Schema.Struct({
  op: oneOf(
    ["append", "replace", "increment", "push", "remove"],
    "append text to a string; replace old, which is there once, by new; increment a number by; push value to an array; remove the field. A missing field is empty text, 0 or [], except for replace."
  ),
  field: Schema.String.annotate({ description: "A top-level field." }),
  by: Schema.optionalKey(exactNumber("For increment; may be negative.")),
  old: text("For replace."),
  new: text("For replace."),
  text: text("For append."),
  value: Schema.optionalKey(exactValue("For push: any JSON value.", "string"))
})
type FlatEdit = typeof Edit.Type

export const edits = Schema.Array(Edit)
  .check(Schema.isMaxLength(maxEdits, { message: `must hold at most ${maxEdits} edits` }))
  .annotate({
    description: `Up to ${maxEdits} changes in place, in this order, after the patch. None is lost, whoever else writes.`
  })

export const ifUpdatedAt = Schema.String.annotate({
  description: "As it was read: the call is refused, with the row as it is now, if the row changed since."
})

export const ifUpdatedAtOrNone = Schema.NullOr(Schema.String).annotate({
  message: "must be the updated_at of a row, or null",
  description: "As it was read: refused if the row changed since. null: only if there is no such row."
})

/** In the result of every tool that takes a patch. */
export const note = Schema.optionalKey(Schema.String.annotate({ description: "What may not be as meant." }))

const needs = {
  append: ["text"],
  replace: ["old", "new"],
  increment: ["by"],
  push: ["value"],
  remove: []
} as const

/** What a flat edit lacks for its op, or has too much. A null value says nothing except to push. */
const faultsOf = (edit: FlatEdit, path: ReadonlyArray<string | number>): ReadonlyArray<FieldIssue> => {
  const { op } = edit
  const own: ReadonlyArray<string> = needs[op]
  const fault = (name: string, word: string) => ({ path: pointerTo([...path, name]), message: `is ${word} for ${op}` })
  return [
    ...needs[op].filter((name) => !(name in edit)).map((name) => fault(name, "required")),
    ...Object.keys(edit).flatMap((name) => {
      const isKnown = name === "op" || name === "field" || own.includes(name)
      return isKnown || (name === "value" && edit.value?.text === "null") ? [] : [fault(name, "not known")]
    })
  ]
}

/** What flat edits have wrong. `path` leads to them in the arguments. */
export const editFaults = (
  edits: ReadonlyArray<FlatEdit> | undefined,
  path: ReadonlyArray<string | number>
): ReadonlyArray<FieldIssue> => (edits ?? []).flatMap((edit, index) => faultsOf(edit, [...path, index]))

/** A tool's arguments with the edits that its flat ones stand for. */
export const withEdits = <Args extends { readonly edits?: ReadonlyArray<FlatEdit> }>(args: Args) => {
  const faults = editFaults(args.edits, ["edits"])
  // Without faults each has the members of its op.
  return faults.length === 0
    ? Effect.succeed(args as Omit<Args, "edits"> & { readonly edits?: ReadonlyArray<Edit> })
    : Effect.fail(invalidFields(faults))
}
