import { Effect, Schema, SchemaAST } from "effect"
import { isWordForNone } from "../../domain/IdempotencyKey.ts"
import { invalid, invalidPlaces } from "../../domain/InvalidPlaces.ts"
import { pointerTo } from "../../domain/json/JsonIssue.ts"
import { parseFairly } from "../../domain/json/ParseFairly.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import type { Bounds, EnvelopeShape } from "../../domain/json/ParseEnvelope.ts"
import { setMember } from "../../domain/json/ReadTree.ts"
import { decodeString } from "../../domain/json/Strings.ts"
import { jsonProblem, type JsonProblem } from "../../domain/JsonProblem.ts"
import { fieldIssues } from "../http/FieldIssues.ts"
import type { Tool } from "./Tool.ts"

/** The text of an object or array that a client sent as a string; none for what is as it should be. */
const stringified = (value: unknown, shape: EnvelopeShape): string | undefined => {
  if (shape.kind === "plain" || shape.kind === "scalar") return undefined
  const text = JsonText.is(value) && value.text[0] === '"' ? decodeString(value.text) : value
  return typeof text === "string" ? text.trim() : undefined
}

/** Some clients send objects and arrays as JSON strings. They are decoded where the tool takes nothing else. */
const unwrap = Effect.fnUntraced(function* (
  value: unknown,
  shape: EnvelopeShape,
  bounds: Bounds,
  at: string
): Effect.fn.Return<unknown, JsonProblem> {
  const text = stringified(value, shape)
  if (text?.[0] !== (shape.kind === "array" ? "[" : "{")) return yield* inside(value, shape, bounds, at)
  const { issue, value: decoded } = yield* parseFairly(text, shape, bounds)
  if (issue !== undefined) return yield* jsonProblem(issue, at)
  // A batch may have many such texts, each too short for a turn of its own.
  yield* Effect.yieldNow
  return yield* inside(decoded, shape, bounds, at)
})

/** A natural key may be the name of its one field, as over REST; tools are listed with the plain array. */
const isOneField = (name: string, value: unknown, { kind }: EnvelopeShape): boolean =>
  name === "key" && kind === "array" && typeof value === "string" && !value.trimStart().startsWith("[")

/** Decodes the parts of an object or array in their turn. */
const inside = Effect.fnUntraced(function* (
  value: unknown,
  shape: EnvelopeShape,
  bounds: Bounds,
  at: string
): Effect.fn.Return<unknown, JsonProblem> {
  const isArray = Array.isArray(value)
  if (typeof value !== "object" || value === null || JsonText.is(value)) return value
  if (shape.kind !== (isArray ? "array" : "object")) return value
  const parts: object = isArray ? [] : {}
  for (const [name, part] of Object.entries(value)) {
    const own = shape.kind === "array" ? shape.items : (shape.members.get(name) ?? PLAIN)
    const decoded = yield* unwrap(isOneField(name, part, own) ? [part] : part, own, bounds, `${at}/${name}`)
    setMember(parts, name, decoded)
  }
  return parts
})

const PLAIN: EnvelopeShape = { kind: "plain" }

const isNull = (value: unknown): boolean => value === null || (JsonText.is(value) && value.text === "null")

const isNoKey = (name: string, value: unknown): boolean =>
  name === "idempotencyKey" && typeof value === "string" && isWordForNone(value.replaceAll('"', ""))

/** Some models fill in every argument, those that they mean to leave out with null. */
const withoutNulls = (value: unknown, ast: SchemaAST.AST): unknown => {
  if (Array.isArray(value)) {
    const items = SchemaAST.isArrays(ast) ? ast.rest[0] : undefined
    return items === undefined ? value : value.map((item) => withoutNulls(item, items))
  }
  if (typeof value !== "object" || value === null || !SchemaAST.isObjects(ast)) return value
  const types = new Map(ast.propertySignatures.map(({ name, type }) => [name, type]))
  const parts: object = {}
  for (const [name, part] of Object.entries(value)) {
    const type = types.get(name)
    if (type === undefined) setMember(parts, name, part)
    else if (SchemaAST.isOptional(type) && (isNull(part) || isNoKey(name, part))) continue
    else setMember(parts, name, withoutNulls(part, type))
  }
  return parts
}

/** The arguments of a call as the tool takes them, or what is wrong with them, place by place. */
export const readArguments = Effect.fnUntraced(function* (
  { input, shape }: Tool,
  given: Readonly<Record<string, unknown>>,
  bounds: Bounds
) {
  const first = Object.keys(given)[0]
  // A schema without members lets every value through.
  if (first !== undefined && shape.kind === "object" && shape.members.size === 0) {
    return yield* invalid(pointerTo([first]), "is not known here; the tool takes no arguments")
  }
  const unwrapped = yield* inside(given, shape, bounds, "")
  return yield* decode(input)(withoutNulls(unwrapped, input.ast)).pipe(
    Effect.mapError(({ issue }) => invalidPlaces(fieldIssues(issue, "body")))
  )
})

const decode = (schema: Schema.Top) =>
  Schema.decodeUnknownEffect(schema as Schema.Codec<unknown>, { onExcessProperty: "error", errors: "all" })
