import { Schema } from "effect"
import { exactNumber, exactValue } from "../domain/ExactJson.ts"
import { maxEdits } from "../domain/Limits.ts"

const field = Schema.String.annotate({ description: "The name of a top-level field." })

/** One change of a field in place. */
const Edit = Schema.Union([
  Schema.Struct({
    op: Schema.Literal("append"),
    field,
    text: Schema.String.annotate({ description: "Goes to the end of the string; a missing field becomes it." })
  }),
  Schema.Struct({
    op: Schema.Literal("replace"),
    field,
    old: Schema.String.annotate({ description: "Must be in the string exactly once." }),
    new: Schema.String.annotate({ description: "Takes its place; may be empty." })
  }),
  Schema.Struct({
    op: Schema.Literal("increment"),
    field,
    by: exactNumber("Is added exactly, as a decimal; may be negative. A missing field is 0.")
  }),
  Schema.Struct({
    op: Schema.Literal("push"),
    field,
    value: exactValue("Goes to the end of the array; a missing field becomes an array of it.")
  }),
  Schema.Struct({ op: Schema.Literal("remove"), field })
]).annotate({
  identifier: "Edit",
  message: "must be a JSON object whose op is append, replace, increment, push or remove",
  description:
    "A change of one top-level field, made from what the row holds at that moment, so that concurrent ones all count. " +
    "All else in the row stays byte for byte."
})

const Edits = Schema.Array(Edit)
  .check(Schema.isMaxLength(maxEdits, { message: `must hold at most ${maxEdits} edits` }))
  .annotate({
    description: `Up to ${maxEdits} edits, made in this order after the patch. One that fails fails the request.`
  })

/** What an update takes beside or instead of a patch. */
export const editFields = { edits: Schema.optionalKey(Edits) }

const updatedAt = (rule: string) =>
  Schema.String.annotate({ description: `The \`updated_at\` of ${rule}. Otherwise the answer is \`edit_conflict\`.` })

/** The guard of a write to one row. */
export const guardFields = {
  ifUpdatedAt: Schema.optionalKey(updatedAt("the row as it was read, which it must still have"))
}

/** The guard of a write to all rows that match. */
export const guardFieldsOfMany = {
  ifUpdatedAt: Schema.optionalKey(updatedAt("the rows as they were read, which each that matches must still have"))
}

/** The guard of a write that may find no row. */
export const guardFieldsOfUpsert = {
  ifUpdatedAt: Schema.optionalKey(
    Schema.NullOr(Schema.String).annotate({
      message: "must be the updated_at of a row, or null",
      description:
        "The `updated_at` of the row as it was read, which it must still have; null if there must be none. Otherwise " +
        "the answer is `edit_conflict`."
    })
  )
}

/** The header that guards a write like `ifUpdatedAt`. */
export const guardHeaders = {
  "if-match": Schema.optionalKey(
    Schema.String.annotate({
      description:
        "The `updated_at` of the row as it was read, in quotes, in place of `ifUpdatedAt`; or `*` for any row that is " +
        "there, or a list (RFC 9110). Weak tags match nothing.",
      examples: ['"2026-11-27T20:07:59.549Z"']
    })
  )
}

/** The member of an answer that points something out. */
export const noteFields = {
  note: Schema.optionalKey(
    Schema.String.annotate({ description: "Says so if the patch looks like another database's operators." })
  )
}
