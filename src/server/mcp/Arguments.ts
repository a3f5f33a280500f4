import { Effect, Schema } from "effect"
import { numberText } from "../../domain/Amounts.ts"
import { jsonProblem, type JsonProblem } from "../../domain/JsonProblem.ts"
import { invalid, invalidFields } from "../../domain/Problem.ts"
import { inTurns } from "../../domain/Turns.ts"
import { type JsonIssue, pointerTo } from "../../domain/json/JsonIssue.ts"
import { JsonText, setMember } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { type Bounds, type EnvelopeShape, parseInTurns } from "../../domain/json/ParseEnvelope.ts"
import { fieldIssues } from "../doors/SchemaProblem.ts"
import { asMeant } from "./Meant.ts"
import type { Tool } from "./Tool.ts"
import type { Tools } from "./Tools.ts"

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
  return name === "fields" ? value.split(",").map((one) => one.trim()) : value
}

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
    const decoded = yield* unwrap(namesIn(name, part, own), own, bounds, `${at}/${name}`)
    setMember(parts, name, decoded)
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
  return yield* decode(input)(asMeant(unwrapped, input.ast)).pipe(
    Effect.mapError(({ issue }) => invalidFields(fieldIssues(issue, "body")))
  )
})

const decode = (schema: Schema.Top) =>
  Schema.decodeUnknownEffect(schema as Schema.Codec<unknown>, { onExcessProperty: "error", errors: "all" })

/** What a call gives to its tool, with rows, patches and filters as exact text; or why it can't be taken. */
export type GivenArguments =
  | { readonly values: Readonly<Record<string, unknown>>; readonly fault?: undefined }
  | { readonly values?: undefined; readonly fault: JsonIssue }

/** Those of a call that gives none. */
export const noArguments: GivenArguments = { values: {} }

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const faulty = (message: string): GivenArguments => ({
  fault: { code: "invalid_request", pointer: "", message }
})

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
  return value === null ? noArguments : isObject(value) ? { values: value } : faulty(notAnObject(value))
})
