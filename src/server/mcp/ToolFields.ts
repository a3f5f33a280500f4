import { Effect, Schema } from "effect"
import type { Edit } from "../../domain/edits/Edit.ts"
import { exactJson, exactNumber, exactValue } from "../../domain/ExactJson.ts"
import { defaultQueryLimit, maxEdits, maxKeyNames, maxQueryLimit, maxSearchLength } from "../../domain/Limits.ts"
import { type FieldIssue, invalidFields } from "../../domain/Problem.ts"
import { pointerTo } from "../../domain/json/JsonIssue.ts"
import { maxFields } from "../../domain/query/Fields.ts"
import { SortName, TableName } from "../../domain/Query.ts"

/** The arguments of a tool that takes none; a Struct without fields would take whatever comes. */
export const nothing = Schema.Record(Schema.String, Schema.Never.annotate({ message: "is not known here" }))

const openObject = { type: "object", additionalProperties: true }

/** A JSON object that comes and goes without any loss. */
export const exactObject = (description: string) => exactJson(undefined, openObject, description)

/** One of a few words. */
export const oneOf = <const Words extends ReadonlyArray<string>>(words: Words, description: string) =>
  Schema.Literals(words).annotate({ description, message: `must be one of ${words.join(", ")}` })

export const text = (description: string) => Schema.String.annotate({ description })

export const flag = (description: string) => Schema.Boolean.annotate({ description })

/** What may be left out. */
export const anyText = (description: string) => Schema.optionalKey(text(description))
export const anyFlag = (description: string) => Schema.optionalKey(flag(description))
export const anyTexts = (description: string) =>
  Schema.optionalKey(Schema.Array(Schema.String).annotate({ description }))

export const anyObjects = (members: string, description: string) =>
  Schema.optionalKey(Schema.Array(exactObject(members)).annotate({ description }))

export const count = (description: string) =>
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description })
export const anyCount = (description: string) => Schema.optionalKey(count(description))

export const table = TableName.annotate({
  description: "A letter, then letters, digits, _ or -; at most 64 characters. The first row creates the table."
})

export const row = exactObject("A JSON object of at most {limits.rowBytes}, without id, created_at and updated_at.")

export const patch = Schema.optionalKey(exactObject("Fields to set; the others stay. null stores null."))

export const filter = Schema.optionalKey(
  exactObject(
    'Top-level fields with the values they equal, {"status":"open"}, or operators that all hold, {"price":{"gte":10,"lt":20}}: eq, ne, gt, gte, lt, lte, in, exists, contains, has (an array element).'
  )
)

export const search = text(
  `Words that must all occur in the row's texts, whatever their case and accents; at most ${maxSearchLength} characters.`
)
export const anySearch = Schema.optionalKey(search)

export const requiredFilter = exactObject("As in query, with at least one field, except beside search.")

const fieldNames = (most: number, description: string) =>
  Schema.Array(Schema.String)
    .check(
      Schema.isMinLength(1, { message: "must name at least one field" }),
      Schema.isMaxLength(most, { message: `must name at most ${most} fields` })
    )
    .annotate({ description })

export const key = fieldNames(
  maxKeyNames,
  `The 1 to ${maxKeyNames} fields that identify the row, for example ["email"].`
)

export const id = text("The row's id, from add or query.")

export const sort = Schema.optionalKey(
  SortName.annotate({
    description:
      "A field, for example created_at; -created_at sorts descending. By default in the order they were added."
  })
)

export const fields = Schema.optionalKey(
  fieldNames(
    maxFields,
    `1 to ${maxFields} fields to read, ["title","done"]; id always comes along. ["*"]: all but created_at and updated_at.`
  )
)

export const cursor = anyText("next_cursor of the result before, with the same table, filter, search and sort.")

const limitRange = `must be a whole number from 1 to ${maxQueryLimit}`

export const limit = Schema.optionalKey(
  Schema.Finite.check(
    Schema.isInt({ message: limitRange }),
    Schema.isBetween({ minimum: 1, maximum: maxQueryLimit }, { message: limitRange })
  ).annotate({ description: `1 to ${maxQueryLimit} rows; ${defaultQueryLimit} by default.` })
)

const numberFrom1 = (isWhole: (number: number) => boolean, description: string) => {
  const message = "must be a whole number from 1"
  const whole = Schema.makeFilter(isWhole, { message, toJsonSchema: () => ({ type: "integer" }) })
  return Schema.optionalKey(
    Schema.Finite.check(whole, Schema.isGreaterThanOrEqualTo(1, { message })).annotate({ description })
  )
}

/** Larger than a safe integer is accepted too: such a version is not found, as over REST. */
export const version = numberFrom1(Number.isInteger, "From versions; 1 or more.")

/** The number of a write to undo. */
export const change = numberFrom1(Number.isSafeInteger, "The number of the write to undo.")

export const idempotencyKey = Schema.optionalKey(
  Schema.String.check(
    Schema.isPattern(/^[\x20-\x7e]{1,255}$/, { message: "must be 1 to 255 printable ASCII characters" })
  ).annotate({
    description: "1 to 255 ASCII characters, new for each write: a repeat gets the first result and writes nothing."
  })
)

export const allowMultiple = anyFlag("true changes all rows that match; otherwise several are refused.")

export const dryRun = anyFlag("true tells what would change, and changes nothing.")

export const returnRows = anyFlag("true returns the rows as stored, not only ids and times.")

export const ifUpdatedAt = anyText(
  "As it was read: the call is refused, with the row as it is now, if the row changed since."
)

/** What every write to rows that are there takes. */
export const guardedWrite = { returnRows, ifUpdatedAt, idempotencyKey }

export const ifUpdatedAtOrNone = Schema.optionalKey(
  Schema.NullOr(Schema.String).annotate({
    message: "must be the updated_at of a row, or null",
    description: "As it was read: refused if the row changed since. null: only if there is no such row."
  })
)

// One flat object for all ops: models fill in unions of objects badly, and some clients drop them.
const FlatEdit = Schema.Struct({
  op: oneOf(
    ["append", "replace", "increment", "push", "remove"],
    "append text to a string; replace old, which is there once, by new; increment a number by; push value to an array; remove the field. A missing field is empty text, 0 or [], except for replace."
  ),
  field: text("A top-level field."),
  by: Schema.optionalKey(exactNumber("For increment; may be negative.")),
  old: anyText("For replace."),
  new: anyText("For replace."),
  text: anyText("For append."),
  value: Schema.optionalKey(exactValue("For push: any JSON value.", "string"))
})
type FlatEdit = typeof FlatEdit.Type

export const edits = Schema.optionalKey(
  Schema.Array(FlatEdit)
    .check(Schema.isMaxLength(maxEdits, { message: `must hold at most ${maxEdits} edits` }))
    .annotate({
      description: `Up to ${maxEdits} changes in place, in this order, after the patch. None is lost, whoever else writes.`
    })
)

const needs = {
  append: ["text"],
  replace: ["old", "new"],
  increment: ["by"],
  push: ["value"],
  remove: []
} as const

/** What flat edits lack for their op, or have too much. A null value says nothing except to push. `path` leads to them. */
export const editFaults = (
  edits: ReadonlyArray<FlatEdit> | undefined = [],
  path: ReadonlyArray<string | number>
): ReadonlyArray<FieldIssue> =>
  edits.flatMap((edit, index) => {
    const { op } = edit
    const known: ReadonlyArray<string> = [
      "op",
      "field",
      ...needs[op],
      ...(edit.value?.text === "null" ? ["value"] : [])
    ]
    const fault = (name: string, word: string) => ({
      path: pointerTo([...path, index, name]),
      message: `is ${word} for ${op}`
    })
    return [
      ...needs[op].filter((name) => !(name in edit)).map((name) => fault(name, "required")),
      ...Object.keys(edit).flatMap((name) => (known.includes(name) ? [] : [fault(name, "not known")]))
    ]
  })

/** A tool's arguments with the edits that its flat ones stand for. */
export const withEdits = <Args extends { readonly edits?: ReadonlyArray<FlatEdit> }>(args: Args) => {
  const faults = editFaults(args.edits, ["edits"])
  // Without faults each has the members of its op.
  return faults.length === 0
    ? Effect.succeed(args as Omit<Args, "edits"> & { readonly edits?: ReadonlyArray<Edit> })
    : Effect.fail(invalidFields(faults))
}

/** In a result: a row that was written, or what it is known by. */
export const writtenRow = {
  id: anyText("The row's."),
  created_at: anyText("When added."),
  updated_at: anyText("When changed."),
  row: Schema.optionalKey(exactObject("As stored."))
}

/** In the result of every tool that writes: the number of the write, and whether the result is one of an earlier call. */
export const writeTold = {
  change: Schema.optionalKey(Schema.Int.annotate({ description: "This write, for restore." })),
  replayed: anyFlag("An earlier result.")
}

export const created = flag("false: replaced.")

export const storedRows = anyObjects("As stored.", "The rows.")

export const wasDryRun = anyFlag("Nothing was changed.")

/** In the result of a dry run, and of an update, of which rows. */
export const matchedRows = {
  dry_run: wasDryRun,
  matched: anyCount("How many rows match."),
  ids: anyTexts("Of the rows, at most 500."),
  has_more: anyFlag("Rows or ids are left out.")
}

/** Rows in a result, of which a choice of fields may leave out all but the id. */
export const foundRows = Schema.Array(
  exactJson(
    undefined,
    {
      type: "object",
      required: ["id"],
      properties: { id: { type: "string", description: "The row's id." } },
      additionalProperties: true
    },
    "id, created_at, updated_at, then its own fields as saved; or those in fields."
  )
).annotate({ description: "The rows." })

export const note = anyText("How to go on.")

/** In the result of every tool that takes a patch. */
export const patchNote = anyText("What may not be as meant.")

export const nextCursor = anyText("With has_more.")

/** A field that a count adds up. */
export const summed = (what: string) =>
  Schema.optionalKey(
    Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({
      description: `The field to ${what}.`
    })
  )

const measure = Schema.optionalKey(exactObject("value, numbers, others"))

/** What a count was asked to find of fields' numbers, in a result. */
export const measures = { sum: measure, min: measure, max: measure, avg: measure }

/** The URLs of a link, in a result. */
export const linkFields = {
  viewer_url: text("For a person."),
  download_url: text("The data itself."),
  editable: flag("By whoever has it."),
  expires_at: text("When both URLs end.")
}
