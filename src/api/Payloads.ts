import { Context, Effect, Option, Schema, SchemaGetter, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import { sizeText } from "../domain/Amounts.ts"
import { exactJson, shapeOf } from "../domain/ExactJson.ts"
import { isWordForNone } from "../domain/RowInput.ts"
import type { JsonIssue } from "../domain/json/JsonIssue.ts"
import { parseInTurns, type Bounds } from "../domain/json/ParseEnvelope.ts"
import { print } from "../domain/json/JsonText.ts"
import { maxFilterBytes, maxFilterConditions, maxInValues, maxQueryLimit, maxSearchLength } from "../domain/Limits.ts"
import * as P from "../domain/Problem.ts"
import { SortName, TableName } from "../domain/Query.ts"
import { inTurns } from "../domain/Turns.ts"
import { withStatus } from "./Middleware.ts"

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

/** A member that may be left out, and what is said of it. */
export const optional = <S extends Schema.Top>(schema: S, description: string) =>
  Schema.optionalKey(schema.annotate({ description }))

/** Names of fields, at least one. */
export const names = (most: number) =>
  Schema.Array(Schema.String).check(
    Schema.isMinLength(1, { message: "must name at least one field" }),
    Schema.isMaxLength(most, { message: `must name at most ${most} fields` })
  )

/** The failures of a body that is not JSON, or not that of its operation. */
export const badBody = [P.InvalidRequest, P.InvalidJson, P.DuplicateField, P.TooDeep] as const

/** Those of an operation with a small body that needs the database. */
export const badSmallBody = [...badBody, withStatus(400, P.RequestTooLarge), P.Unavailable] as const

export const tableParams = { table: TableName }

/** The JSON Schema of any object. */
export const openObject = { type: "object", additionalProperties: true }

/** How long a filter may be, in words. */
export const filterBounds = `Up to ${maxFilterConditions} comparisons and ${sizeText(maxFilterBytes)}.`

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

const rowSchema = (required: ReadonlyArray<string>) => ({
  type: "object",
  required,
  properties: {
    id: { type: "string" },
    created_at: { type: "string", format: "date-time" },
    updated_at: { type: "string", format: "date-time" }
  },
  additionalProperties: true
})

/** A live row with its system fields. */
export const Row = exactJson(
  "Row",
  rowSchema(["id", "created_at", "updated_at"]),
  "A stored row: the system fields, then the row's own fields exactly as they were sent."
)

/** What a query returns for a row. */
export const FoundRow = exactJson(
  "FoundRow",
  rowSchema(["id"]),
  "A stored row, or with `fields` its `id` and the fields named."
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
  "idempotency-key": optional(Schema.String, "Refused: the response contains a secret, which is never stored.")
}

/** Reads the digits of a query string. */
export const asInteger = (digits: Schema.String) =>
  digits.pipe(
    Schema.decodeTo(Schema.Int, { decode: SchemaGetter.transform(Number), encode: SchemaGetter.transform(String) })
  )

/** `limit` in a query string: the page size, where it has a default of its own. */
export const pageLimit = (things: string, unset: number) =>
  Schema.optionalKey(
    Schema.String.annotate({ description: `The most ${things} to return.`, default: String(unset) })
      .check(
        Schema.makeFilter((text) => /^[1-9][0-9]{0,3}$/.test(text) && Number(text) <= maxQueryLimit, {
          message: `must be a whole number from 1 to ${maxQueryLimit}`
        })
      )
      .pipe(asInteger)
  )

/** `cursor` in a query string, as `read` knows it. */
export const pageCursor = (read: (text: string) => Option.Option<unknown>) =>
  Schema.optionalKey(
    Schema.String.annotate({ description: "The `next_cursor` of the previous page." }).check(
      Schema.makeFilter((text) => Option.isSome(read(text)), {
        message: "must be the next_cursor of an earlier response"
      })
    )
  )

/** A whole number of a body, from 1. */
export const wholeNumber = (message: string, most = Infinity, jsonSchema: object = {}) =>
  Schema.Number.check(
    Schema.makeFilter((value) => Number.isInteger(value) && value >= 1 && value <= most, {
      message,
      toJsonSchema: () => ({ type: "integer", minimum: 1, ...jsonSchema })
    })
  )

/** What to sort by. */
export const sort = Schema.optionalKey(
  SortName.annotate({ description: "A field name; a leading `-` sorts descending." })
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
