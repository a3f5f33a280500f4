import { Schema, SchemaTransformation, type SchemaAST } from "effect"
import { JsonText } from "./json/JsonText.ts"
import type { EnvelopeShape } from "./json/ParseEnvelope.ts"

const jsonTextId = "agent-memory/JsonText"

/**
 * JSON that stays text from the socket to the column and back, with the JSON Schema that documents it. Documents name it by
 * its identifier; without one they repeat it.
 */
export const exactJson = (identifier: string | undefined, jsonSchema: Record<string, unknown>, description: string) => {
  const named = identifier === undefined ? { description } : { identifier, description }
  return Schema.declare((value): value is JsonText => value instanceof JsonText, {
    ...named,
    expected: "a JSON value",
    representation: { id: jsonTextId, payload: { identifier: identifier ?? null } },
    toCodecJson: () => Schema.link<JsonText>()(documented(jsonSchema).annotate(named), passThrough)
  })
}

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

/** Which places of a text that a schema describes hold exact JSON. */
export const shapeOf = (ast: SchemaAST.AST): EnvelopeShape => {
  switch (ast._tag) {
    case "Declaration":
      return ast.annotations?.["representation"] !== undefined &&
        (ast.annotations["representation"] as { readonly id: string }).id === jsonTextId
        ? { kind: "text" }
        : { kind: "plain" }
    case "Objects":
      return {
        kind: "object",
        members: new Map(ast.propertySignatures.map(({ name, type }) => [String(name), shapeOf(type)])),
        ...(ast.indexSignatures[0] && { rest: shapeOf(ast.indexSignatures[0].type) })
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
  const rest = a.rest ?? b.rest
  return { kind: "object", members, ...(rest && { rest }) }
}
