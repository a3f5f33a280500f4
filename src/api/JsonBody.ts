import { Context, Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import type { JsonIssue } from "../domain/json/JsonIssue.ts"
import { shapeOf } from "../domain/ExactJson.ts"
import type { Bounds } from "../domain/json/ParseEnvelope.ts"
import { parseFairly } from "../domain/json/ParseFairly.ts"
import { print } from "../domain/json/Print.ts"

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

/**
 * What a body is held to while it is parsed: the limits of the service at hand, which the contract can't know. None for a
 * client, which reads whatever it is answered.
 */
export const BodyBounds = Context.Reference<Bounds | undefined>("agent-memory/api/JsonBody/BodyBounds", {
  defaultValue: () => undefined
})

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
        decode: Effect.fnUntraced(function* (body: string) {
          const { issue, value } = yield* parseFairly(body === "" ? whenEmpty : body, shape, yield* BodyBounds)
          if (issue === undefined) return value as S["Encoded"]
          const refusal = new SchemaIssue.InvalidValue({ message: issue.message })
          issues.set(refusal, issue)
          return yield* Effect.fail(refusal)
        }),
        encode: (value) => Effect.succeed(print(value))
      })
    ),
    HttpApiSchema.asText({ contentType: "application/json" }),
    // In the OpenAPI document the name is the schema's, not that of the text around it.
    Schema.annotate({ identifier: undefined })
  )
}
