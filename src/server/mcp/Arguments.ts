import { Effect, Predicate, Schema, SchemaAST } from "effect"
import { shapeOf, takesNull, jsonProblem, type JsonProblem } from "../../domain/ExactJson.ts"
import { isWordForNone } from "../../domain/RowInput.ts"
import { JsonText, setMember } from "../../domain/json/JsonText.ts"
import { numberText } from "../../domain/Amounts.ts"
import { invalid, invalidFields } from "../../domain/Problem.ts"
import { inTurns } from "../../domain/Turns.ts"
import { type JsonIssue, pointerTo } from "../../domain/json/JsonIssue.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { type Bounds, type EnvelopeShape, parseInTurns } from "../../domain/json/ParseEnvelope.ts"
import { fieldIssues } from "../doors/RenderProblem.ts"
import type { Tool } from "./Tool.ts"
import type { Tools } from "./Tools.ts"

/** Arguments in which the word null may be meant, as they hold other people's words. */
const freeTexts: ReadonlySet<string> = new Set(["new", "old", "search", "text"])

const isNull = (value: unknown): boolean => value === null || (JsonText.is(value) && value.text === "null")

const isWordNull = (value: unknown): boolean =>
  JsonText.is(value) ? value.text === '"null"' : typeof value === "string" && value.trim() === "null"

/** Whether an argument that may be left out is what clients send for nothing: null, its word, or an array of them. */
const isNothing = (name: string, value: unknown, type: SchemaAST.AST): boolean => {
  if (name === "idempotencyKey" && typeof value === "string") return isWordForNone(value.replaceAll('"', ""))
  if (isNull(value)) return !takesNull(type)
  if (freeTexts.has(name) || takesNull(type)) return false
  return isWordNull(value) || (Array.isArray(value) && value.length === 1 && (isNull(value[0]) || isWordNull(value[0])))
}

const numeral = /^\s*-?\d+(?:\.\d+)?\s*$/

/** A number in quotes. */
const quoted = /^"(-?(?:0|[1-9]\d*)(?:\.\d+)?)"$/

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false }

/** A number, boolean or null that came as a string. Whatever else came stays, to be refused. */
const scalarMeant = (value: string, ast: SchemaAST.AST): unknown => {
  if (SchemaAST.isNumber(ast)) return numeral.test(value) ? Number(value) : value
  if (SchemaAST.isBoolean(ast)) return booleans[value.trim().toLowerCase()] ?? value
  return takesNull(ast) && SchemaAST.isUnion(ast) && isWordNull(value) ? null : value
}

/** An exact number that came as a string, without its quotes. */
const exactMeant = (value: JsonText, ast: SchemaAST.AST): JsonText => {
  const digits = quoted.exec(value.text)?.[1]
  if (digits === undefined) return value
  const shape = shapeOf(ast)
  return shape.kind === "text" && shape.takes === "number" ? JsonText.trusted(digits) : value
}

/**
 * Arguments as they are meant: some clients send numbers, booleans and null as strings, and some models fill in every
 * argument, those that they mean to leave out with null. Rows, patches and filters stay as they are.
 */
const asMeant = (value: unknown, ast: SchemaAST.AST): unknown => {
  if (typeof value === "string") return scalarMeant(value, ast)
  if (JsonText.is(value)) return exactMeant(value, ast)
  if (Array.isArray(value)) {
    const items = SchemaAST.isArrays(ast) ? ast.rest[0] : undefined
    return items === undefined ? value : value.map((item) => asMeant(item, items))
  }
  if (!Predicate.isObject(value) || !SchemaAST.isObjects(ast)) return value
  const types = new Map(ast.propertySignatures.map(({ name, type }) => [name, type]))
  const parts: object = {}
  for (const [name, part] of Object.entries(value)) {
    const type = types.get(name)
    if (type === undefined) setMember(parts, name, part)
    else if (SchemaAST.isOptional(type) && isNothing(name, part, type)) continue
    else setMember(parts, name, asMeant(part, type))
  }
  return parts
}

/** The text of an object or array that a client sent as a string; none for what is as it should be. */
const stringified = (value: unknown, shape: EnvelopeShape): string | undefined => {
  if (shape.kind === "plain" || shape.kind === "scalar" || (shape.kind === "text" && shape.takes !== undefined))
    return undefined
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
  const { issue, value: decoded } = yield* inTurns(parseInTurns(text, shape, bounds))
  if (issue !== undefined) return yield* jsonProblem(issue, at)
  // A batch may have many such texts, each too short for a turn of its own.
  yield* Effect.yieldNow
  return yield* inside(decoded, shape, bounds, at)
})

/** Names may come as one string, as over REST: of a natural key one, of fields several. Tools are listed with the plain array. */
const namesIn = (name: string, value: unknown, { kind }: EnvelopeShape): unknown => {
  if (kind !== "array" || typeof value !== "string" || value.trimStart().startsWith("[")) return value
  if (name === "key") return [value]
  // An empty text is also what a number too long to be read leaves.
  return name === "fields" && value !== "" ? value.split(",").map((one) => one.trim()) : value
}

/** Decodes the parts of an object or array in their turn. */
const inside = Effect.fnUntraced(function* (
  value: unknown,
  shape: EnvelopeShape,
  bounds: Bounds,
  at: string
): Effect.fn.Return<unknown, JsonProblem> {
  if (!Predicate.isObjectOrArray(value) || JsonText.is(value)) return value
  const isArray = Array.isArray(value)
  if (shape.kind !== (isArray ? "array" : "object")) return value
  const parts: object = isArray ? [] : {}
  for (const [name, part] of Object.entries(value)) {
    const own = shape.kind === "array" ? shape.items : (shape.members.get(name) ?? PLAIN)
    setMember(parts, name, yield* unwrap(namesIn(name, part, own), own, bounds, `${at}/${name}`))
  }
  return parts
})

const PLAIN: EnvelopeShape = { kind: "plain" }

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
  const options = { onExcessProperty: "error", errors: "all" } as const
  const decode = Schema.decodeUnknownEffect(input as Schema.Codec<unknown>, options)
  return yield* Effect.mapError(decode(asMeant(unwrapped, input.ast)), ({ issue }) =>
    invalidFields(fieldIssues(issue, "body"))
  )
})

/** What a call gives to its tool, with rows, patches and filters as exact text; or why it can't be taken. */
export type GivenArguments =
  | { readonly values: Readonly<Record<string, unknown>>; readonly fault?: undefined }
  | { readonly values?: undefined; readonly fault: JsonIssue }

/** Those of a call that gives none. */
export const noArguments: GivenArguments = { values: {} }

const faulty = (message: string): GivenArguments => ({ fault: { code: "invalid_request", pointer: "", message } })

const notAnObject = (value: unknown): string =>
  typeof value === "string"
    ? 'arguments must be a JSON object itself, for example {"table":"tasks"}, not a string that holds one.'
    : 'arguments must be a JSON object, for example {"table":"tasks"}; a tool without arguments takes {}.'

/** Reads the arguments of a call in turns, by the shape of its tool. A name that is no tool's is refused later, by itself. */
export const readGiven = Effect.fnUntraced(function* (
  tools: Tools,
  name: string,
  text: string
): Effect.fn.Return<GivenArguments> {
  const tool = tools.named(name)
  if (tool === undefined) return noArguments
  const longest = tools.longestArguments(tool)
  if (text.length > longest) return faulty(`arguments of ${name} may have ${numberText(longest)} characters.`)
  const { issue, value } = yield* inTurns(parseInTurns(text, tool.shape, tools.bounds))
  if (issue !== undefined) return { fault: issue }
  // Null is what some clients send for no arguments.
  return value === null ? noArguments : Predicate.isObject(value) ? { values: value } : faulty(notAnObject(value))
})
