import { Schema } from "effect"
import { exactJson } from "../../domain/ExactJson.ts"
import { defaultQueryLimit, maxKeyNames, maxQueryLimit, maxSearchLength } from "../../domain/Limits.ts"
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

export const table = TableName.annotate({
  description: "A letter, then letters, digits, _ or -; at most 64 characters. The first row creates the table."
})

export const row = exactObject("A JSON object of at most {limits.rowBytes}, without id, created_at and updated_at.")

export const patch = exactObject("Fields to set; the others stay. null stores null.")

export const filter = exactObject(
  'Top-level fields with the values they equal, {"status":"open"}, or operators that all hold, {"price":{"gte":10,"lt":20}}: eq, ne, gt, gte, lt, lte, in, exists, contains, has (an array element).'
)

export const search = Schema.String.annotate({
  description: `Words that must all occur in the row's texts, whatever their case and accents; at most ${maxSearchLength} characters.`
})

export const requiredFilter = exactObject("As in query, with at least one field, except beside search.")

export const key = Schema.Array(Schema.String)
  .check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxKeyNames, { message: `must name at most ${maxKeyNames} fields` })
  )
  .annotate({
    description: `The 1 to ${maxKeyNames} fields that identify the row, for example ["email"].`
  })

export const id = Schema.String.annotate({ description: "The row's id, from add or query." })

export const sort = SortName.annotate({
  description: "A field, for example created_at; -created_at sorts descending. By default in the order they were added."
})

export const fields = Schema.Array(Schema.String)
  .check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxFields, { message: `must name at most ${maxFields} fields` })
  )
  .annotate({
    description: `1 to ${maxFields} fields to read, ["title","done"]; id always comes along. ["*"]: all but created_at and updated_at.`
  })

export const cursor = Schema.String.annotate({
  description: "next_cursor of the result before, with the same table, filter, search and sort."
})

const limitRange = `must be a whole number from 1 to ${maxQueryLimit}`

export const limit = Schema.Finite.check(
  Schema.isInt({ message: limitRange }),
  Schema.isBetween({ minimum: 1, maximum: maxQueryLimit }, { message: limitRange })
).annotate({ description: `1 to ${maxQueryLimit} rows; ${defaultQueryLimit} by default.` })

const versionRange = "must be a whole number from 1"

/** Larger than a safe integer is accepted too: such a version is not found, as over REST. */
export const version = Schema.Finite.check(
  Schema.makeFilter(Number.isInteger, { message: versionRange, toJsonSchema: () => ({ type: "integer" }) }),
  Schema.isGreaterThanOrEqualTo(1, { message: versionRange })
).annotate({ description: "From versions; 1 or more." })

export const idempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,255}$/, { message: "must be 1 to 255 printable ASCII characters" })
).annotate({
  description: "1 to 255 ASCII characters, new for each write: a repeat gets the first result and writes nothing."
})

/** The number of a write to undo. */
export const change = Schema.Finite.check(
  Schema.makeFilter(Number.isSafeInteger, { message: versionRange, toJsonSchema: () => ({ type: "integer" }) }),
  Schema.isGreaterThanOrEqualTo(1, { message: versionRange })
).annotate({ description: "The number of the write to undo." })

/** In the result of every tool that writes. */
export const changeTold = Schema.optionalKey(Schema.Int.annotate({ description: "This write, for restore." }))

/** In the result of every tool that takes an idempotencyKey. */
export const replayed = Schema.optionalKey(
  Schema.Boolean.annotate({
    description: "An earlier result."
  })
)

export const allowMultiple = Schema.Boolean.annotate({
  description: "true changes all rows that match; otherwise several are refused."
})

export const dryRun = Schema.Boolean.annotate({ description: "true tells what would change, and changes nothing." })

export const returnRows = Schema.Boolean.annotate({
  description: "true returns the rows as stored, not only ids and times."
})

const stored = exactObject("As stored.")

/** A row in the result of a write, or what it is known by. */
export const writtenRow = {
  id: Schema.optionalKey(Schema.String.annotate({ description: "The row's." })),
  created_at: Schema.optionalKey(Schema.String.annotate({ description: "When added." })),
  updated_at: Schema.optionalKey(Schema.String.annotate({ description: "When changed." })),
  row: Schema.optionalKey(stored)
}
export const storedRows = Schema.Array(stored).annotate({ description: "The rows." })

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

export const note = Schema.String.annotate({
  description: "How to go on."
})

export const count = (description: string) =>
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description })

/** A field that a count adds up. */
export const summed = (what: string) =>
  Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({
    description: `The field to ${what}.`
  })

const measure = exactObject("value, numbers, others")

/** What a count was asked to find of fields' numbers, in a result. */
export const measures = {
  sum: Schema.optionalKey(measure),
  min: Schema.optionalKey(measure),
  max: Schema.optionalKey(measure),
  avg: Schema.optionalKey(measure)
}

/** The URLs of a link, in a result. */
export const linkFields = {
  viewer_url: Schema.String.annotate({ description: "For a person." }),
  download_url: Schema.String.annotate({ description: "The data itself." }),
  editable: Schema.Boolean.annotate({ description: "By whoever has it." }),
  expires_at: Schema.String.annotate({ description: "When both URLs end." })
}
