import { Schema } from "effect"
import { exactJson } from "../../domain/ExactJson.ts"
import { defaultQueryLimit, maxKeyNames, maxQueryLimit, maxSearchLength } from "../../domain/Limits.ts"
import { maxFields } from "../../domain/query/Selection.ts"
import { SortName, TableName } from "../../domain/Query.ts"

/** The arguments of a tool that takes none; a Struct without fields would take whatever comes. */
const openObject = { type: "object", additionalProperties: true }

/** A JSON object that comes and goes without any loss. */
export const exactObject = (description: string) => exactJson(undefined, openObject, description)

/** One of a few words. */
export const oneOf = <const Words extends ReadonlyArray<string>>(words: Words, description: string) =>
  Schema.Literals(words).annotate({ description, message: `must be one of ${words.join(", ")}` })

export const table = TableName.annotate({
  description:
    "The table's name: a letter, then letters, digits, _ or -; at most 64 characters. Adding the first row creates the table."
})

export const row = exactObject(
  "The row as a JSON object of at most {limits.rowBytes}, without id, created_at and updated_at, which the service sets."
)

export const patch = exactObject(
  "The fields to set as a JSON object; other fields stay unchanged. null stores null. To change text, numbers or arrays in place, or to drop a field, send edits."
)

export const filter = exactObject(
  'Top-level fields as a JSON object, each with the value it must equal, for example {"status":"open"}, or with operators that must all hold: {"price":{"gte":10,"lt":20}}. Operators: eq, ne, gt, gte, lt, lte, in, exists, contains, has (an array element).'
)

export const search = Schema.String.annotate({
  description: `Words that must all occur in the row's texts, in any field and at any depth, whatever their case and accents; at most ${maxSearchLength} characters.`
})

export const requiredFilter = exactObject(
  'As in query, with at least one field, for example {"id":"…"} or {"status":"done"}. An empty one is refused, except beside search.'
)

export const key = Schema.Array(Schema.String)
  .check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxKeyNames, { message: `must name at most ${maxKeyNames} fields` })
  )
  .annotate({
    description: `Names of the fields that identify the row, 1 to ${maxKeyNames}, for example ["email"].`
  })

export const id = Schema.String.annotate({ description: "The row's id, from add or query." })

export const sort = SortName.annotate({
  description:
    "One field to sort by, for example created_at; -created_at sorts descending. Without it rows come in the order they were added."
})

export const fields = Schema.Array(Schema.String)
  .check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxFields, { message: `must name at most ${maxFields} fields` })
  )
  .annotate({
    description: `Names of the fields to read, 1 to ${maxFields}, for example ["title","done"]; id always comes along. ["*"] reads all fields without created_at and updated_at.`
  })

export const cursor = Schema.String.annotate({
  description: "next_cursor of the result before, for the same table, filter and sort. It goes on behind its rows."
})

const limitRange = `must be a whole number from 1 to ${maxQueryLimit}`

export const limit = Schema.Finite.check(
  Schema.isInt({ message: limitRange }),
  Schema.isBetween({ minimum: 1, maximum: maxQueryLimit }, { message: limitRange })
).annotate({ description: `The most rows to return, 1 to ${maxQueryLimit}; ${defaultQueryLimit} by default.` })

const versionRange = "must be a whole number from 1"

/** Larger than a safe integer is accepted too: such a version is not found, as over REST. */
export const version = Schema.Finite.check(
  Schema.makeFilter(Number.isInteger, { message: versionRange, toJsonSchema: () => ({ type: "integer" }) }),
  Schema.isGreaterThanOrEqualTo(1, { message: versionRange })
).annotate({ description: "The version's number, 1 or more, from versions." })

export const idempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,255}$/, { message: "must be 1 to 255 printable ASCII characters" })
).annotate({
  description:
    "Any text of 1 to 255 ASCII characters, a new one for each write. A repeated call with the same key gets the first result again and writes nothing."
})

/** The number of a write to undo. */
export const change = Schema.Finite.check(
  Schema.makeFilter(Number.isSafeInteger, { message: versionRange, toJsonSchema: () => ({ type: "integer" }) }),
  Schema.isGreaterThanOrEqualTo(1, { message: versionRange })
).annotate({ description: "The number of the write to undo." })

/** In the result of every tool that writes. */
export const changeTold = Schema.optionalKey(
  Schema.Int.annotate({ description: "The number of this write: restore can undo it." })
)

/** In the result of every tool that takes an idempotencyKey. */
export const replayed = Schema.optionalKey(
  Schema.Boolean.annotate({
    description: "true: the result of an earlier call with this idempotencyKey; this call wrote nothing."
  })
)

export const allowMultiple = Schema.Boolean.annotate({
  description: "true lets the patch change several rows; without it, several matches are refused."
})

export const dryRun = Schema.Boolean.annotate({ description: "true returns what would change, and changes nothing." })

export const returnRows = Schema.Boolean.annotate({
  description: "true returns the rows as they are stored now; otherwise only what they are known by."
})

const stored = exactObject("The whole row: id, created_at, updated_at, then its own fields exactly as they were saved.")

/** A row in the result of a write, or what it is known by. */
export const writtenRow = {
  id: Schema.optionalKey(Schema.String.annotate({ description: "The row's id." })),
  created_at: Schema.optionalKey(Schema.String.annotate({ description: "When it was added." })),
  updated_at: Schema.optionalKey(Schema.String.annotate({ description: "When it last changed." })),
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
    "A row: id, created_at, updated_at, then its own fields exactly as they were saved, or those of them in fields."
  )
).annotate({ description: "The rows." })

export const note = Schema.String.annotate({
  description: "How to read on, or why nothing may have been found."
})

export const count = (description: string) =>
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description })

/** A field that a count adds up. */
export const summed = (what: string) =>
  Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({
    description: `The field to ${what}.`
  })

const measure = exactObject(
  "value: the exact number, or null; numbers: how many rows have one; others: how many don't."
)

/** What a count was asked to find of fields' numbers, in a result. */
export const measures = {
  sum: Schema.optionalKey(measure),
  min: Schema.optionalKey(measure),
  max: Schema.optionalKey(measure),
  avg: Schema.optionalKey(measure)
}

/** The URLs of a link, in a result. */
export const linkFields = {
  viewer_url: Schema.String.annotate({ description: "A page for a person: give them this URL unchanged." }),
  download_url: Schema.String.annotate({ description: "The data itself, to download." }),
  editable: Schema.Boolean.annotate({ description: "Whether the page can change what it shows." }),
  expires_at: Schema.String.annotate({ description: "When both URLs expire, RFC 3339 in UTC." })
}
