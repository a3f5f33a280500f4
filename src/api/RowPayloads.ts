import { Schema } from "effect"
import { Timestamp } from "../domain/Account.ts"
import { bounded, exactJson, exactNumber, exactValue } from "../domain/ExactJson.ts"
import { maxEdits, maxKeyNames } from "../domain/Limits.ts"
import { maxDigits } from "../domain/query/Decimal.ts"
import { maxFields } from "../domain/query/Fields.ts"
import { maxGroups } from "../domain/query/Summary.ts"
import {
  FilterObject,
  filterBounds,
  FoundRow,
  IdempotencyKey,
  idempotencyHeaders,
  names,
  openObject,
  optional,
  Row,
  search
} from "./Payloads.ts"

const field = Schema.String.annotate({ description: "The name of a top-level field." })

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

const guardOf = (rows: string) => ({
  ifUpdatedAt: optional(Schema.String, `The \`updated_at\` of ${rows}. Otherwise the answer is \`edit_conflict\`.`)
})

/** The guard of a write to one row. */
export const guardFields = guardOf("the row as it was read, which it must still have")

const guardFieldsOfMany = guardOf("the rows as they were read, which each that matches must still have")

/** The guard of a write that may find no row. */
const guardFieldsOfUpsert = {
  ifUpdatedAt: Schema.optionalKey(
    Schema.NullOr(Schema.String).annotate({
      message: "must be the updated_at of a row, or null",
      description:
        "The `updated_at` of the row as it was read, which it must still have; null if there must be none. Otherwise " +
        "the answer is `edit_conflict`."
    })
  )
}

/** The headers of a write with a guard; `If-Match` is like `ifUpdatedAt`. */
export const guardedHeaders = {
  ...idempotencyHeaders,
  "if-match": Schema.optionalKey(
    Schema.String.annotate({
      description:
        "The `updated_at` of the row as it was read, in quotes, in place of `ifUpdatedAt`; or `*` for any row that is " +
        "there, or a list (RFC 9110). Weak tags match nothing.",
      examples: ['"2026-11-27T20:07:59.549Z"']
    })
  )
}

const noteFields = {
  note: optional(Schema.String, "Says so if the patch looks like another database's operators.")
}

/** A row's own fields, or a patch of them: any JSON object without the system fields. */
export const NewRow = exactJson(
  "NewRow",
  openObject,
  "Any JSON object of up to {limits.rowBytes}, without the system fields `id`, `created_at` and `updated_at`."
)

const Patch = exactJson(
  "Patch",
  openObject,
  "The fields to set; all others stay unchanged. `null` stores null. To drop a field, send the edit `remove`."
)

const OperationResult = exactJson(
  "OperationResult",
  openObject,
  "The result of the single operation: add the row, upsert `{created, row}`, update_row `{row}`, update_where " +
    "`{updated, rows}`, delete `{deleted}`."
)

export const filterQuery = {
  filter: Schema.optionalKey(
    Schema.String.annotate({
      description: `A JSON object of field names and values or operators, URL-encoded: \`{"status":"open"}\`, \`{"price":{"lt":20}}\`. ${filterBounds}`,
      examples: ['{"status":"open"}']
    })
  )
}

/** Which page of a query, and which fields of its rows. */
export const pageQuery = {
  fields: Schema.optionalKey(
    Schema.String.annotate({
      description:
        `Up to ${maxFields} names of fields with commas between them, or a JSON array of names; each row then has these ` +
        "fields and `id`. `*` stands for all of a row's own fields, without `created_at` and `updated_at`.",
      examples: ["title,done"]
    })
  ),
  cursor: optional(
    Schema.String,
    "`next_cursor` of a response to the same query: goes on behind its rows. Whatever is added, changed or deleted " +
      "meanwhile, a row that is there all the while is returned once. `limit` and `fields` may differ from page to page."
  )
}

const summedField = (what: string) =>
  Schema.optionalKey(
    Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({ description: what })
  )

/** What a count adds up. */
export const summingQuery = {
  by: summedField(
    `A field: the response then has the groups of rows with the same value of it, most first, at most ${maxGroups}.`
  ),
  sum: summedField("A field whose numbers are added up, exactly. With `by`, also within each group."),
  min: summedField("A field whose least number is found. With `by`, also within each group."),
  max: summedField("A field whose greatest number is found. With `by`, also within each group."),
  avg: summedField(
    "A field whose numbers are averaged: to 20 digits, where the result has more. With `by`, also within each group."
  )
}

const Measured = Schema.Struct({
  value: exactJson(undefined, { type: ["number", "null"] }, "Exact, whatever its size; null without any number."),
  numbers: Schema.Natural.annotate({ description: "How many rows have a number in the field." }),
  others: Schema.Natural.annotate({ description: "How many do not, and are left out." }),
  note: optional(
    Schema.String,
    `Why a sum or average is null though there are numbers: one reaches more than ${maxDigits} digits from its decimal point.`
  )
}).annotate({ identifier: "Measured" })

const measured = {
  count: Schema.Natural.annotate({ description: "How many rows match." }),
  sum: Schema.optionalKey(Measured),
  min: Schema.optionalKey(Measured),
  max: Schema.optionalKey(Measured),
  avg: Schema.optionalKey(Measured)
}

const Group = Schema.Struct({
  value: exactJson(undefined, {}, "The value that the rows of the group have in the field."),
  ...measured
})

/** A count, and what it was asked to add up. */
export const CountAnswer = Schema.Struct({
  ...measured,
  groups: Schema.optionalKey(
    Schema.Array(Group).annotate({
      description:
        "With `by`: the groups that most rows are in, most first. Arrays and objects are a group by their text."
    })
  ),
  other: Schema.optionalKey(
    Schema.Struct({ groups: Schema.Natural, count: Schema.Natural }).annotate({
      description: "With `by`: how many further groups there are, and how many rows are in them."
    })
  ),
  missing: optional(Schema.Natural, "With `by`: how many rows lack the field."),
  note: optional(Schema.String, "Why no row may have matched.")
})

const NaturalKey = Schema.Union([Schema.String, names(maxKeyNames)]).annotate({
  message: "must be the name of a field, or an array of names",
  description: `The names of the fields that identify the row, up to ${maxKeyNames}, or the name of a single one.`
})

export const QueryAnswer = Schema.Struct({
  rows: Schema.Array(FoundRow),
  has_more: Schema.Boolean.annotate({ description: "Whether more rows match than `limit`." }),
  next_cursor: optional(Schema.String, "With `has_more`: send it as `cursor` to read on behind these rows."),
  note: optional(Schema.String, "A hint for the caller, such as why there is no `next_cursor`.")
})
export const UpsertRequest = Schema.Struct({ key: NaturalKey, row: NewRow, ...guardFieldsOfUpsert })
export const UpsertAnswer = Schema.Struct({ created: Schema.Boolean, row: Row })
const Patched = {
  patch: Schema.optionalKey(Patch),
  edits: Schema.optionalKey(
    Schema.Array(Edit)
      .check(Schema.isMaxLength(maxEdits, { message: `must hold at most ${maxEdits} edits` }))
      .annotate({
        description: `Up to ${maxEdits} edits, made in this order after the patch. One that fails fails the request.`
      })
  )
}

export const UpdateRowRequest = Schema.Struct({ id: Schema.String, ...Patched, ...guardFields })
export const UpdateRowAnswer = Schema.Struct({ row: Row, ...noteFields })
export const UpdateWhereRequest = Schema.Struct({
  filter: FilterObject,
  search,
  ...Patched,
  allowMultiple: Schema.optionalKey(Schema.Boolean),
  ...guardFieldsOfMany
})
export const UpdateWhereAnswer = Schema.Struct({ updated: Schema.Natural, rows: Schema.Array(Row), ...noteFields })

/** What `all` and `forever` of a delete mean. */
export const allOfTable = "`true`, without a filter: all rows of the table."
export const forGood =
  "`true`: the rows go for good, with all their versions, and so do deleted rows that match as they last were. Nothing " +
  "of them can be restored."

export const DeleteRequest = Schema.Struct({
  filter: Schema.optionalKey(FilterObject),
  search,
  all: Schema.optionalKey(Schema.Boolean.annotate({ description: allOfTable })),
  forever: Schema.optionalKey(Schema.Boolean.annotate({ description: forGood })),
  ...guardFieldsOfMany
})
export const DeleteAnswer = Schema.Struct({
  deleted: Schema.Natural.annotate({ description: "How many rows there were, and are no more." }),
  forgotten: optional(
    Schema.Natural,
    "With `forever`: how many rows are gone for good, those included that had been deleted before."
  ),
  ids: optional(
    Schema.Array(Schema.String),
    "The ids of these rows, at most 500; `GET /v1/_changes` has them all. Absent if there are none."
  ),
  has_more: optional(Schema.Boolean, "`true` if `ids` does not have them all."),
  restorable_until: optional(
    Schema.NullOr(Timestamp),
    "Until when the rows can be restored; null with `forever`, as they can't. Absent if there are none."
  ),
  change: optional(
    Schema.Int,
    "The number of this write: `POST /v1/_undo` takes it back. Absent if nothing was deleted."
  ),
  ...noteFields
})

const BatchOperation = Schema.Union([
  Schema.Struct({ action: Schema.Literal("add"), row: NewRow, idempotencyKey: Schema.optionalKey(IdempotencyKey) }),
  Schema.Struct({ action: Schema.Literal("upsert"), ...UpsertRequest.fields }),
  Schema.Struct({ action: Schema.Literal("update_row"), ...UpdateRowRequest.fields }),
  Schema.Struct({ action: Schema.Literal("update_where"), ...UpdateWhereRequest.fields }),
  Schema.Struct({ action: Schema.Literal("delete"), filter: FilterObject, search, ...guardFieldsOfMany })
]).annotate({
  message: "must be a JSON object whose action is add, upsert, update_row, update_where or delete"
})

export const BatchRequest = Schema.Struct({
  operations: Schema.Array(BatchOperation).annotate(bounded("batchOperations", "operations"))
})
export const BatchAnswer = Schema.Struct({
  results: Schema.Array(
    Schema.Struct({
      index: Schema.Natural,
      action: Schema.Literals(["add", "upsert", "update_row", "update_where", "delete"]),
      result: OperationResult
    })
  )
})
