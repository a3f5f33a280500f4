import type { SchemaAST } from "effect"
import { Effect, Result, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import type { JsonIssue } from "../domain/json/JsonIssue.ts"
import { JsonText } from "../domain/json/JsonText.ts"
import { parseEnvelope, type EnvelopeShape } from "../domain/json/ParseEnvelope.ts"
import { print } from "../domain/json/Print.ts"

const jsonTextId = "agent-memory/JsonText"

/** JSON that stays text from the socket to the column and back, with the JSON Schema that documents it. */
export const exactJson = (identifier: string, jsonSchema: Record<string, unknown>, description: string) =>
  Schema.declare((value): value is JsonText => value instanceof JsonText, {
    identifier,
    description,
    expected: "a JSON value",
    representation: { id: jsonTextId, payload: { identifier } },
    toCodecJson: () =>
      Schema.link<JsonText>()(documented(jsonSchema).annotate({ identifier, description }), passThrough)
  })

/** Any value, with the JSON Schema that the OpenAPI document shows for it. */
const documented = (jsonSchema: Record<string, unknown>) =>
  Schema.Any.check(
    Schema.makeFilter(() => true, {
      representation: { id: "agent-memory/JsonSchema", payload: null },
      toJsonSchema: () => jsonSchema
    })
  )

const passThrough = SchemaTransformation.transform({
  decode: (value: unknown) => value as JsonText,
  encode: (value: JsonText): unknown => value
})

// The failures of the body's text itself, by the schema issue that stands for them.
const issues = new WeakMap<SchemaIssue.Issue, JsonIssue>()

/** Why a body's text is not acceptable JSON, where that is what a schema issue is about. */
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

/** Reads off a schema which places of the body hold exact JSON. */
const shapeOf = (ast: SchemaAST.AST): EnvelopeShape => {
  switch (ast._tag) {
    case "Declaration":
      return ast.annotations?.["representation"] !== undefined &&
        (ast.annotations["representation"] as { readonly id: string }).id === jsonTextId
        ? { kind: "text" }
        : { kind: "plain" }
    case "Objects":
      return {
        kind: "object",
        members: new Map(ast.propertySignatures.map(({ name, type }) => [String(name), shapeOf(type)]))
      }
    case "Arrays":
      return ast.rest[0] === undefined ? { kind: "plain" } : { kind: "array", items: shapeOf(ast.rest[0]) }
    case "Union":
      return ast.types.map(shapeOf).reduce(merge, { kind: "plain" })
    default:
      return { kind: "plain" }
  }
}

const merge = (a: EnvelopeShape, b: EnvelopeShape): EnvelopeShape => {
  if (a.kind !== "object" || b.kind !== "object") return a.kind === "plain" ? b : a
  const members = new Map(a.members)
  for (const [name, shape] of b.members) members.set(name, merge(members.get(name) ?? { kind: "plain" }, shape))
  return { kind: "object", members }
}

/**
 * A JSON body read and written by the service's own exact codec. The framework sees text; the OpenAPI document shows
 * the schema. Places declared with `exactJson` are `JsonText`, all others plain values. Where no body may come,
 * `whenEmpty` is the text that is read for it.
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
        decode: (body) => {
          const parsed = parseEnvelope(body === "" ? whenEmpty : body, shape)
          if (Result.isSuccess(parsed)) return Effect.succeed(parsed.success as S["Encoded"])
          const issue = new SchemaIssue.InvalidValue({ message: parsed.failure.message })
          issues.set(issue, parsed.failure)
          return Effect.fail(issue)
        },
        encode: (value) => Effect.succeed(print(value))
      })
    ),
    HttpApiSchema.asText({ contentType: "application/json" }),
    // In the OpenAPI document the name is the schema's, not that of the text around it.
    Schema.annotate({ identifier: undefined })
  )
}
