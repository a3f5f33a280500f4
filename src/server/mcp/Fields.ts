import { Schema } from "effect"
import { exactJson } from "../../domain/ExactJson.ts"
import { maxKeyNames, maxQueryLimit } from "../../domain/Limits.ts"
import { TableName } from "../../domain/TableName.ts"
import type { ServiceLimits } from "../Config.ts"
import { sizeText } from "../LimitWords.ts"

/** The arguments of a tool that takes none; a Struct without fields would take whatever comes. */
export const nothing = Schema.Record(Schema.String, Schema.Never.annotate({ message: "is not known here" }))

const openObject = { type: "object", additionalProperties: true }

/** A JSON object that comes and goes without any loss. */
export const exactObject = (description: string) => exactJson(undefined, openObject, description)

/** One of a few words. */
export const oneOf = <const Words extends ReadonlyArray<string>>(words: Words, description: string) =>
  Schema.Literals(words).annotate({ description, message: `must be one of ${words.join(", ")}` })

export const table = TableName.annotate({
  description:
    "The table's name: a letter, then letters, digits, _ or -; 64 characters at most. Adding makes the table."
})

export const row = ({ rowBytes }: ServiceLimits) =>
  exactObject(
    `The row as a JSON object of at most ${sizeText(rowBytes)}, without id, created_at and updated_at, which the service sets.`
  )

export const patch = exactObject(
  "The fields to set as a JSON object; other fields stay as they are. null stores null. To drop a field, use upsert."
)

export const filter = exactObject(
  'Equal values as a JSON object, for example {"status":"open"}: top-level fields with strings, numbers, true, false or null.'
)

export const requiredFilter = exactObject(
  'Equal values as a JSON object with at least one field, for example {"id":"…"} or {"status":"done"}. An empty filter is refused.'
)

export const key = Schema.Array(Schema.String)
  .check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxKeyNames, { message: `must name at most ${maxKeyNames} fields` })
  )
  .annotate({
    description: `Names of the fields that identify the row, 1 to ${maxKeyNames}, for example ["email"].`
  })

export const id = Schema.String.annotate({ description: "The row's id, as add and query give it." })

export const sort = Schema.String.check(Schema.isNonEmpty({ message: "must name a field" })).annotate({
  description:
    "One field to sort by, for example created_at; -created_at sorts descending. Without it rows come in the order they were added."
})

const limitRange = `must be a whole number from 1 to ${maxQueryLimit}`

export const limit = Schema.Finite.check(
  Schema.isInt({ message: limitRange }),
  Schema.isBetween({ minimum: 1, maximum: maxQueryLimit }, { message: limitRange })
).annotate({ description: `At most this many rows, 1 to ${maxQueryLimit}; 100 when left out.` })

const versionRange = "must be a whole number from 1"

/** No safe integers only: a number too great for any version is one that is not found, as over REST. */
export const version = Schema.Finite.check(
  Schema.makeFilter(Number.isInteger, { message: versionRange, toJsonSchema: () => ({ type: "integer" }) }),
  Schema.isGreaterThanOrEqualTo(1, { message: versionRange })
).annotate({ description: "The version's number, 1 or more, as versions gives it." })

export const idempotencyKey = Schema.String.check(
  Schema.isPattern(/^[\x20-\x7e]{1,255}$/, { message: "must be 1 to 255 printable ASCII characters" })
).annotate({
  description:
    "Any text of 1 to 255 ASCII characters, a new one for each write. A repeated call with the same key gets the first answer again and writes nothing."
})

/** In the answer of every tool that takes an idempotencyKey. */
export const replayed = Schema.optionalKey(
  Schema.Boolean.annotate({
    description: "true: the answer to an earlier call with this idempotencyKey; this call wrote nothing."
  })
)

export const allowMultiple = Schema.Boolean.annotate({
  description: "true lets the patch change several rows; otherwise several matches are refused."
})

export const dryRun = Schema.Boolean.annotate({ description: "true tells what would change, and changes nothing." })

const stored = exactJson(
  undefined,
  {
    type: "object",
    required: ["id", "created_at", "updated_at"],
    properties: {
      id: { type: "string", description: "The row's id." },
      created_at: { type: "string", description: "When the row was added, RFC 3339 in UTC." },
      updated_at: { type: "string", description: "When the row last changed, RFC 3339 in UTC." }
    },
    additionalProperties: true
  },
  "A stored row: id, created_at, updated_at, then its own fields exactly as they were saved."
)

/** A row in an answer. */
export const storedRow = stored
export const storedRows = Schema.Array(stored).annotate({ description: "The rows." })

export const count = (description: string) =>
  Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)).annotate({ description })

/** The addresses of a link, in an answer. */
export const linkFields = {
  viewer_url: Schema.String.annotate({ description: "A page for a person: give it to them as it is." }),
  download_url: Schema.String.annotate({ description: "The data itself, to download." }),
  editable: Schema.Boolean.annotate({ description: "Whether the page can change what it shows." }),
  expires_at: Schema.String.annotate({ description: "When both addresses end, RFC 3339 in UTC." })
}
