import { Schema, SchemaTransformation, type SchemaAST } from "effect"
import { JsonText } from "./json/JsonText.ts"
import type { EnvelopeShape, Most } from "./json/ParseEnvelope.ts"
import type { Limits } from "./Limits.ts"

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

const boundedBy = "agent-memory/boundedBy"

/** Holds an array's items, or a record's members, to a limit of the service at hand while a body is parsed. */
export const bounded = (limit: keyof Limits, called: string): Schema.Annotations.Annotations => ({
  [boundedBy]: { parts: limit, message: (most) => `must hold at most ${most} ${called}` } satisfies Most
})

/** How many parts a schema lets an array have: by a limit of the service, or by its own check of the length. */
const mostOf = (ast: SchemaAST.AST): Most | undefined => {
  const limit = ast.annotations?.[boundedBy]
  if (limit !== undefined) return limit as Most
  for (const { annotations } of ast.checks ?? []) {
    const representation = annotations?.["representation"] as
      | { readonly id: string; readonly payload: unknown }
      | undefined
    if (representation?.id !== "effect/schema/isMaxLength") continue
    const { maxLength } = representation.payload as { readonly maxLength: number }
    const message = annotations?.["message"] ?? `must hold at most ${maxLength} items`
    return { parts: maxLength, message: () => String(message) }
  }
  return undefined
}

/**
 * Which places of a text that a schema describes hold exact JSON, and how many parts its arrays and records may have. One
 * declaration gives what is checked while a body is parsed and what is checked of the values.
 */
export const shapeOf = (ast: SchemaAST.AST): EnvelopeShape => {
  const most = mostOf(ast)
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
        ...(ast.indexSignatures[0] && { rest: shapeOf(ast.indexSignatures[0].type) }),
        ...(most && { most })
      }
    case "Arrays":
      return ast.rest[0] === undefined
        ? { kind: "plain" }
        : { kind: "array", items: shapeOf(ast.rest[0]), ...(most && { most }) }
    case "Union":
      return ast.types.map(shapeOf).reduce(merge, { kind: "scalar" })
    case "Any":
    case "Unknown":
    case "ObjectKeyword":
    case "Suspend":
      return { kind: "plain" }
    default:
      return { kind: "scalar" }
  }
}

const merge = (a: EnvelopeShape, b: EnvelopeShape): EnvelopeShape => {
  if (a.kind !== "object" || b.kind !== "object") return rank(a) < rank(b) ? b : a
  const members = new Map(a.members)
  for (const [name, shape] of b.members) members.set(name, merge(members.get(name) ?? { kind: "scalar" }, shape))
  const rest = a.rest ?? b.rest
  const most = a.most ?? b.most
  return { kind: "object", members, ...(rest && { rest }), ...(most && { most }) }
}

/** Of two shapes of one place, the one that says more of it is kept. */
const rank = ({ kind }: EnvelopeShape): number => (kind === "scalar" ? 0 : kind === "plain" ? 1 : 2)
