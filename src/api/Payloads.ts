import { Context, Effect, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { sizeText } from "../domain/Amounts.ts"
import { exactJson, shapeOf } from "../domain/ExactJson.ts"
import { isWordForNone } from "../domain/RowInput.ts"
import type { JsonIssue } from "../domain/json/JsonIssue.ts"
import { parseInTurns, type Bounds } from "../domain/json/ParseEnvelope.ts"
import { print } from "../domain/json/JsonText.ts"
import { maxFilterBytes, maxFilterConditions, maxInValues, maxQueryLimit, maxSearchLength } from "../domain/Limits.ts"
import { maxDigits } from "../domain/query/Decimal.ts"
import { maxGroups } from "../domain/query/Summary.ts"
import { maxFields } from "../domain/query/Fields.ts"
import { TableName } from "../domain/Query.ts"
import { inTurns } from "../domain/Turns.ts"

// The faults of a body's text, by the schema issue that represents each.
const issues = new WeakMap<SchemaIssue.Issue, JsonIssue>()

/** Why a body is not acceptable JSON, if a schema issue is about that. */
export const jsonIssueOf = (issue: SchemaIssue.Issue): JsonIssue | undefined => {
  const known = issues.get(issue)
  if (known !== undefined) return known
  switch (issue._tag) {
    case "Encoding":
    case "Filter":
    case "Pointer":
      return jsonIssueOf(issue.issue)
    case "Composite":
    case "AnyOf":
      return issue.issues.map(jsonIssueOf).find((found) => found !== undefined)
    default:
      return undefined
  }
}

/** The limits of the service at hand, checked while a body is parsed. A client has none: it reads any response. */
export const BodyBounds = Context.Reference<Bounds | undefined>("agent-memory/api/Payloads/BodyBounds", {
  defaultValue: () => undefined
})

/**
 * A JSON body in the service's own exact codec: the framework sees text, the OpenAPI document shows the schema. Parts
 * declared with `exactJson` are `JsonText`, all others plain values. `whenEmpty` is read in place of an empty body.
 */
export const jsonBody = <S extends Schema.Top>(schema: S, { whenEmpty = "" } = {}) => {
  const shape = shapeOf(schema.ast)
  const text = Schema.String.check(
    Schema.makeFilter(() => true, {
      representation: {
        id: "agent-memory/JsonBody",
        payload: null,
        schemas: [Schema.toEncoded(Schema.toCodecJson(schema)).ast]
      },
      toJsonSchema: ({ schemas }) => ({ type: "object", ...schemas[0] })
    })
  )
  return text.pipe(
    Schema.decodeTo(
      schema,
      SchemaTransformation.transformEffect<S["Encoded"], string>({
        decode: Effect.fnUntraced(function* (body: string) {
          const { issue, value } = yield* inTurns(
            parseInTurns(body === "" ? whenEmpty : body, shape, yield* BodyBounds)
          )
          if (issue === undefined) return value as S["Encoded"]
          const refusal = new SchemaIssue.InvalidValue({ message: issue.message })
          issues.set(refusal, issue)
          return yield* Effect.fail(refusal)
        }),
        encode: (value) => Effect.succeed(print(value))
      })
    ),
    HttpApiSchema.asText({ contentType: "application/json" }),
    // The OpenAPI document names the schema, not the text around it.
    Schema.annotate({ identifier: undefined })
  )
}

export const tableParams = { table: TableName }

const openObject = { type: "object", additionalProperties: true }

/** A row's own fields, or a patch of them: any JSON object without the system fields. */
export const NewRow = exactJson(
  "NewRow",
  openObject,
  "Any JSON object of up to {limits.rowBytes}, without the system fields `id`, `created_at` and `updated_at`."
)

export const Patch = exactJson(
  "Patch",
  openObject,
  "The fields to set; all others stay unchanged. `null` stores null. To drop a field, send the edit `remove`."
)

const filterBounds = `Up to ${maxFilterConditions} comparisons and ${sizeText(maxFilterBytes)}.`

const scalar = { type: ["string", "number", "boolean", "null"] }
const comparable = { type: ["string", "number"] }
const comparisons = {
  type: "object",
  properties: {
    eq: scalar,
    ne: scalar,
    gt: comparable,
    gte: comparable,
    lt: comparable,
    lte: comparable,
    in: { type: "array", items: scalar, minItems: 1, maxItems: maxInValues },
    exists: { type: "boolean" },
    contains: { type: "string" },
    has: scalar
  },
  minProperties: 1,
  additionalProperties: false
}

/** A filter in a body: what fields are equal to, or objects of operators. */
export const FilterObject = exactJson(
  "Filter",
  { type: "object", additionalProperties: { anyOf: [scalar, comparisons] } },
  `Field names and the values they must equal, in type and value: \`{"status": "open"}\`, or objects of operators that ` +
    'must all hold: `{"price": {"gte": 10, "lt": 20}}`. `ne` includes rows without the field; `gt`, `gte`, `lt` and `lte` ' +
    "compare numbers with numbers and strings with strings, and `created_at` and `updated_at` with RFC 3339 times or dates; " +
    `\`in\` takes up to ${maxInValues} values; \`contains\` ignores case and accents; \`has\` looks into arrays. ${filterBounds}`
)

/** A live row with its system fields. */
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
  "A stored row: the system fields, then the row's own fields exactly as they were sent."
)

/** The result of one operation of a batch: a row for add, the response body of the single operation for the others. */
export const OperationResult = exactJson(
  "OperationResult",
  openObject,
  "The result of the single operation: add the row, upsert `{created, row}`, update_row `{row}`, update_where " +
    "`{updated, rows}`, delete `{deleted}`."
)

/** A repeated request with the same key gets the first response again and writes nothing. */
export const IdempotencyKey = Schema.String.annotate({
  description: "A repeated request with the same key gets the first response again, for {limits.idempotencyHours}."
}).check(
  // A quoted string is the key between the quotes.
  Schema.isPattern(/^(?:"[\x20\x21\x23-\x7e]{1,255}"|[\x20\x21\x23-\x7e][\x20-\x7e]{0,254})$/, {
    message: "must be 1 to 255 printable ASCII characters"
  }),
  Schema.makeFilter((key) => !isWordForNone(key.replaceAll('"', "")), {
    message:
      "is a word for no value, and would make all such writes one; leave it out, or send a new key with each write"
  })
)

export const idempotencyHeaders = { "idempotency-key": Schema.optionalKey(IdempotencyKey) }

/** For operations whose response contains a secret. */
export const refusedIdempotencyKey = {
  "idempotency-key": Schema.optionalKey(
    Schema.String.annotate({ description: "Refused: the response contains a secret, which is never stored." })
  )
}

/** `limit` in a query string: the page size, where it has a default of its own. */
export const pageLimit = (things: string, unset: number) =>
  Schema.String.annotate({
    description: `The most ${things} to return.`,
    default: String(unset)
  })
    .check(
      Schema.makeFilter((text) => /^[1-9][0-9]{0,3}$/.test(text) && Number(text) <= maxQueryLimit, {
        message: `must be a whole number from 1 to ${maxQueryLimit}`
      })
    )
    .pipe(
      Schema.decodeTo(Schema.Int, {
        decode: SchemaGetter.transform(Number),
        encode: SchemaGetter.transform(String)
      })
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
  cursor: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "`next_cursor` of a response to the same query: goes on behind its rows. Whatever is added, changed or deleted " +
        "meanwhile, a row that is there all the while is returned once. `limit` and `fields` may differ from page to page."
    })
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

const Value = exactJson(undefined, { type: ["number", "null"] }, "Exact, whatever its size; null without any number.")

const Measured = Schema.Struct({
  value: Value,
  numbers: Schema.Natural.annotate({ description: "How many rows have a number in the field." }),
  others: Schema.Natural.annotate({ description: "How many do not, and are left out." }),
  note: Schema.optionalKey(
    Schema.String.annotate({
      description: `Why a sum or average is null though there are numbers: one reaches more than ${maxDigits} digits from its decimal point.`
    })
  )
}).annotate({ identifier: "Measured" })

const measured = {
  count: Schema.Natural.annotate({ description: "How many rows match." }),
  sum: Schema.optionalKey(Measured),
  min: Schema.optionalKey(Measured),
  max: Schema.optionalKey(Measured),
  avg: Schema.optionalKey(Measured)
}

const AnyValue = exactJson(undefined, {}, "The value that the rows of the group have in the field.")

/** A count, and what it was asked to add up. */
export const CountAnswer = Schema.Struct({
  ...measured,
  groups: Schema.optionalKey(
    Schema.Array(Schema.Struct({ value: AnyValue, ...measured })).annotate({
      description:
        "With `by`: the groups that most rows are in, most first. Arrays and objects are a group by their text."
    })
  ),
  other: Schema.optionalKey(
    Schema.Struct({ groups: Schema.Natural, count: Schema.Natural }).annotate({
      description: "With `by`: how many further groups there are, and how many rows are in them."
    })
  ),
  missing: Schema.optionalKey(Schema.Natural.annotate({ description: "With `by`: how many rows lack the field." })),
  note: Schema.optionalKey(Schema.String.annotate({ description: "Why no row may have matched." }))
})

/** Names of fields in a body. */
export const FieldNames = Schema.Array(Schema.String)
  .check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(maxFields, { message: `must name at most ${maxFields} fields` })
  )
  .annotate({
    description:
      `Up to ${maxFields} names of fields; each row then has these fields and \`id\`. \`*\` stands for all of a row's own ` +
      "fields, without `created_at` and `updated_at`."
  })

/** What a query returns for a row. */
export const FoundRow = exactJson(
  "FoundRow",
  {
    type: "object",
    required: ["id"],
    properties: {
      id: { type: "string" },
      created_at: { type: "string", format: "date-time" },
      updated_at: { type: "string", format: "date-time" }
    },
    additionalProperties: true
  },
  "A stored row, or with `fields` its `id` and the fields named."
)

/** Words to search for. */
export const SearchWords = Schema.String.annotate({
  description: `Words, separated by white space. Each must occur in some string of the row, at any depth, whatever its case and accents: \`cafe\` finds \`Café\`. Up to ${maxSearchLength} characters.`,
  examples: ["dentist"]
})

/** Words to search for, beside a filter. */
export const search = Schema.optionalKey(SearchWords)

/** `true` or `false` in a query string. */
export const flag = (description: string) =>
  Schema.Literals(["true", "false"])
    .annotate({ message: "must be true or false", description })
    .pipe(
      Schema.decodeTo(Schema.Boolean, {
        decode: SchemaGetter.transform((text) => text === "true"),
        encode: SchemaGetter.transform((value) => (value ? ("true" as const) : ("false" as const)))
      })
    )

/** `dry_run` in a query string. */
export const dryRunQuery = {
  dry_run: Schema.optionalKey(flag("`true` returns what would happen, and changes nothing."))
}
