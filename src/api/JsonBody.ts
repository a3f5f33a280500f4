import { Effect, Schema, SchemaIssue, SchemaTransformation } from "effect"
import { HttpApiSchema } from "effect/http-api"
import type { JsonIssue } from "../domain/json/JsonIssue.ts"
import { shapeOf } from "../domain/ExactJson.ts"
import { parseInTurns } from "../domain/json/ParseEnvelope.ts"
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
          const turns = parseInTurns(body === "" ? whenEmpty : body, shape)
          const parse = (): Effect.Effect<S["Encoded"], SchemaIssue.Issue> => {
            const { done, value: parsed } = turns.next()
            // Others may use the processor for a while.
            if (!done) return Effect.flatMap(Effect.yieldNow, parse)
            if (parsed.issue === undefined) return Effect.succeed(parsed.value as S["Encoded"])
            const issue = new SchemaIssue.InvalidValue({ message: parsed.issue.message })
            issues.set(issue, parsed.issue)
            return Effect.fail(issue)
          }
          return parse()
        },
        encode: (value) => Effect.succeed(print(value))
      })
    ),
    HttpApiSchema.asText({ contentType: "application/json" }),
    // In the OpenAPI document the name is the schema's, not that of the text around it.
    Schema.annotate({ identifier: undefined })
  )
}
