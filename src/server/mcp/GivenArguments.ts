import { Effect } from "effect"
import type { JsonIssue } from "../../domain/json/JsonIssue.ts"
import { parseFairly } from "../../domain/json/ParseFairly.ts"
import { numberText } from "../LimitWords.ts"
import type { Tools } from "./Tools.ts"

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
  const { issue, value } = yield* parseFairly(text, tool.shape, tools.bounds)
  if (issue !== undefined) return { fault: issue }
  // Null is what some clients send for no arguments.
  return value === null ? noArguments : isObject(value) ? { values: value } : faulty(notAnObject(value))
})
