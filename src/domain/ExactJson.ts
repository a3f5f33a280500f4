import type { JsonIssue, Most } from "./json/JsonIssue.ts"
import { DuplicateField, fieldIssue, invalid, InvalidJson, InvalidRequest, TooDeep } from "./Problem.ts"
import { Schema, SchemaTransformation, type SchemaAST } from "effect"
import { JsonText } from "./json/JsonText.ts"
import type { EnvelopeShape, TextShape } from "./json/ParseEnvelope.ts"
import type { Limits } from "./Limits.ts"

export type JsonProblem = DuplicateField | InvalidJson | InvalidRequest | TooDeep

/** The error for text that is not acceptable JSON. `at` names the field of the request that has the text. */
export const jsonProblem = (issue: JsonIssue, at: string): JsonProblem => {
  const { code, message, pointer } = issue
  if (code === "too_many") return invalid(at + pointer, message)
  return new problems[code]({ detail: message, errors: [fieldIssue(at + pointer, message)] })
}

const problems = {
  invalid_json: InvalidJson,
  duplicate_field: DuplicateField,
  too_deep: TooDeep,
  invalid_request: InvalidRequest
}

const jsonTextId = "agent-memory/JsonText"

/** JSON that stays text from the socket to the column and back. Documents repeat its JSON Schema unless it has an identifier. */
export const exactJson = (identifier: string | undefined, jsonSchema: Record<string, unknown>, description: string) =>
  declared(identifier === undefined ? { description } : { identifier, description }, jsonSchema, undefined)

/** {@link exactJson} of any value. Where a document needs one type, `listed` is the usual one. */
export const exactValue = (description: string, listed?: "string") =>
  declared({ description }, listed === undefined ? {} : { type: listed }, "any")

/** {@link exactJson} of a number. */
export const exactNumber = (description: string) =>
  declared({ description, message: "must be a number" }, { type: "number" }, "number")

const declared = (
  named: { readonly identifier?: string; readonly description: string; readonly message?: string },
  jsonSchema: Record<string, unknown>,
  takes: TextShape["takes"]
) =>
  Schema.declare(
    (value): value is JsonText => JsonText.is(value) && (takes !== "number" || /^[-\d]/.test(value.text)),
    {
      ...named,
      expected: "a JSON value",
      representation: { id: jsonTextId, payload: { identifier: named.identifier ?? null, takes: takes ?? null } },
      toCodecJson: () => {
        const documented = Schema.makeFilter(() => true, {
          representation: { id: "agent-memory/JsonSchema", payload: null },
          toJsonSchema: () => jsonSchema
        })
        return Schema.link<JsonText>()(Schema.Any.check(documented).annotate(named), passThrough)
      }
    }
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

/** Whether a schema takes null as a value of its own. */
export const takesNull = (ast: SchemaAST.AST): boolean => {
  if (ast._tag === "Union") return ast.types.some(takesNull)
  if (ast._tag === "Null") return true
  const shape = shapeOf(ast)
  return shape.kind === "text" && shape.takes === "any"
}

/** Where a schema has exact JSON, and how many parts its arrays and records may have, as it is checked while parsing. */
export const shapeOf = (ast: SchemaAST.AST): EnvelopeShape => {
  const most = mostOf(ast)
  switch (ast._tag) {
    case "Declaration": {
      const representation = ast.annotations?.["representation"] as
        | { readonly id: string; readonly payload: { readonly takes: TextShape["takes"] | null } }
        | undefined
      if (representation?.id !== jsonTextId) return { kind: "plain" }
      const { takes } = representation.payload
      return { kind: "text", ...(takes && { takes }) }
    }
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

/** Of two shapes of one value, the more specific one is kept. */
const rank = ({ kind }: EnvelopeShape): number => (kind === "scalar" ? 0 : kind === "plain" ? 1 : 2)
