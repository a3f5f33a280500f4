import { Schema, SchemaGetter } from "effect"
import { exactJson } from "../domain/ExactJson.ts"
import { isWordForNone } from "../domain/IdempotencyKey.ts"
import { maxQueryLimit } from "../domain/Limits.ts"
import { TableName } from "../domain/TableName.ts"

export const tableParams = { table: TableName }

const openObject = { type: "object", additionalProperties: true }

/** A row's own fields, or a patch of them: any JSON object without the system fields. */
export const NewRow = exactJson(
  "NewRow",
  openObject,
  "Any JSON object of at most 64 KB, without the system fields `id`, `created_at` and `updated_at`."
)

export const Patch = exactJson(
  "Patch",
  openObject,
  "The fields to set; others stay. `null` stores null. To drop a field, upsert the row without it."
)

/** An equality filter in a body (specification section 2.3). */
export const FilterObject = exactJson(
  "Filter",
  { type: "object", additionalProperties: { type: ["string", "number", "boolean", "null"] } },
  'Field names with the values they must have, by type and value: `{"status": "open"}`. At most 50 fields, and 16 KB.'
)

/** A live row with its system fields (specification section 2.2). */
export const Row = exactJson(
  "Row",
  {
    type: "object",
    required: ["id", "created_at", "updated_at"],
    properties: {
      id: { type: "string" },
      created_at: { type: "string", format: "date-time" },
      updated_at: { type: "string", format: "date-time" }
    },
    additionalProperties: true
  },
  "A stored row: the system fields, then its own fields exactly as they were sent."
)

/** The answer that a batch's operation would have given alone: add a row, the others their own body. */
export const OperationResult = exactJson(
  "OperationResult",
  openObject,
  "What the single operation answers: add the row, upsert `{created, row}`, update_row `{row}`, update_where " +
    "`{updated, rows}`, delete `{deleted}`."
)

/** An idempotency key: a repeated request with the same key gets the first answer again and writes nothing. */
export const IdempotencyKey = Schema.String.check(
  // As a quoted string it is the key between the quotes.
  Schema.isPattern(/^(?:"[\x20\x21\x23-\x7e]{1,255}"|[\x20\x21\x23-\x7e][\x20-\x7e]{0,254})$/, {
    message: "must be 1 to 255 printable ASCII characters"
  }),
  Schema.makeFilter((key) => !isWordForNone(key.replaceAll('"', "")), {
    message:
      "is a word for nothing, which would make all such writes one; leave it out, or send a new key with each write"
  })
)

export const idempotencyHeaders = {
  "idempotency-key": Schema.optionalKey(
    IdempotencyKey.annotate({
      description: "Repeat a request with the same key to get its first answer again, for 24 hours."
    })
  )
}

/** Of operations whose answer holds a secret. */
export const refusedIdempotencyKey = {
  "idempotency-key": Schema.optionalKey(
    Schema.String.annotate({ description: "Refused: the answer holds a secret, which is never stored." })
  )
}

/** How many things a page has at most: `limit` in an address. */
export const PageLimit = Schema.String.check(
  Schema.makeFilter((text) => /^[1-9][0-9]{0,3}$/.test(text) && Number(text) <= maxQueryLimit, {
    message: `must be a whole number from 1 to ${maxQueryLimit}`
  })
).pipe(
  Schema.decodeTo(Schema.Int, {
    decode: SchemaGetter.transform(Number),
    encode: SchemaGetter.transform(String)
  })
)

export const filterQuery = {
  filter: Schema.optionalKey(
    Schema.String.annotate({
      description: 'A JSON object of equal values, URL-encoded: `{"status":"open"}`. At most 50 fields, and 16 KB.',
      examples: ['{"status":"open"}']
    })
  )
}
