import { Data, Effect, Predicate } from "effect"
import { numberText } from "../../domain/Amounts.ts"
import { inTurns } from "../../domain/Turns.ts"
import type { RateLimited } from "../../domain/Problem.ts"
import type { JsonIssue, Most } from "../../domain/json/JsonIssue.ts"
import { type Bounds, type EnvelopeShape, parseInTurns, UnreadJson } from "../../domain/json/ParseEnvelope.ts"
import { type GivenArguments, noArguments, readGiven } from "./Arguments.ts"
import type { Tools } from "./Tools.ts"

/** Asked whether so many messages may be answered, before any is. */
export type Admit = (messages: number) => Effect.Effect<void, RateLimited>

/** The messages of a batch at most (the library's own bound), and the members of one, and of its params. */
const maxParts = 100

/** What all messages of a body may have beside the arguments of tools, in characters: they say little in themselves. */
const maxValues = 131_072

const members: Most = { parts: maxParts, message: (limit) => `must have at most ${limit} members` }

const bounds: Bounds = {
  limits: {},
  textLength: 0,
  values: {
    parts: maxValues,
    message: (limit) =>
      `and what comes before it have more than ${numberText(limit)} characters beside tools' arguments`
  }
}

const message: EnvelopeShape = {
  kind: "object",
  members: new Map([
    [
      "params",
      { kind: "object", members: new Map([["arguments", { kind: "unread" }]]), rest: { kind: "plain" }, most: members }
    ]
  ]),
  rest: { kind: "plain" },
  most: members
}

const batch: EnvelopeShape = {
  kind: "array",
  items: message,
  most: { parts: maxParts, message: (limit) => `must hold at most ${limit} messages` }
}

/** A body that holds no messages, with the JSON-RPC code for it. */
export class Unreadable extends Data.TaggedError("Unreadable")<{
  readonly code: -32_700 | -32_600
  readonly message: string
}> {}

const isSyntax = ({ code }: JsonIssue): boolean => code === "invalid_json" || code === "too_deep"

const unreadable = (issue: JsonIssue): Unreadable => {
  const place = issue.pointer === "" ? "The body" : issue.pointer
  const message = issue.code === "too_many" ? `${place} ${issue.message}.` : `${place}: ${issue.message}`
  return new Unreadable({ code: isSyntax(issue) ? -32_700 : -32_600, message })
}

const memberOf = (value: unknown, name: string): unknown =>
  Predicate.isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined

/** The messages of a body; one alone is no array. What calls give to tools is apart from them. */
export interface Messages {
  readonly body: unknown
  readonly given: (heldArguments: unknown) => GivenArguments
}

/** The params of every call in a body that gives arguments, with the place of each. */
const callsOf = (body: unknown) =>
  (Array.isArray(body) ? body : [body]).flatMap((one: unknown, index) => {
    const params = memberOf(one, "params")
    if (!Predicate.isObject(params) || !(params["arguments"] instanceof UnreadJson)) return []
    const at = `${Array.isArray(body) ? `/${index}` : ""}/params/arguments`
    return [{ params, text: params["arguments"].text, at }]
  })

/**
 * Reads the JSON-RPC messages of a body in turns, as exactly as REST reads bodies. What is wrong with the arguments of a
 * call is that call's own matter, and told to its model, unless it is that they are no JSON. `admit` is asked once it is
 * known how many messages there are, before the arguments are read.
 */
export const readMessages = Effect.fnUntraced(function* (
  text: string,
  tools: Tools,
  admit: Admit
): Effect.fn.Return<Messages, Unreadable | RateLimited> {
  const { issue, value: body } = yield* inTurns(parseInTurns(text, /^\s*\[/.test(text) ? batch : message, bounds))
  if (issue !== undefined) return yield* unreadable(issue)
  yield* admit(Array.isArray(body) ? body.length : 1)
  const calls: Array<GivenArguments> = []
  for (const { at, params, text } of callsOf(body)) {
    const given = yield* readGiven(tools, String(params["name"]), text)
    if (given.fault?.code === "invalid_json") {
      return yield* unreadable({ ...given.fault, pointer: at + given.fault.pointer })
    }
    // The library only carries a number through: it copies what it carries, and checks it more than once.
    params["arguments"] = { call: calls.length }
    calls.push(given)
  }
  return { body, given: (held) => calls[(held as { readonly call: number } | undefined)?.call ?? -1] ?? noArguments }
})

const methods = new Set([
  "initialize",
  "ping",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "notifications/initialized",
  "notifications/cancelled"
])

const nameOf = (message: unknown, tools: Tools): string | undefined => {
  const method = memberOf(message, "method")
  if (typeof method !== "string") return undefined
  if (method !== "tools/call") return methods.has(method) ? method : undefined
  const tool = memberOf(memberOf(message, "params"), "name")
  return typeof tool === "string" ? tools.named(tool)?.name : undefined
}

/** What a body of `/mcp` asks for, in one of few words, for logs and metrics: `mcp.query`, `mcp.tools/list`. */
export const operationOf = (body: unknown, tools: Tools): string => {
  const operations = new Set(
    (Array.isArray(body) ? body : [body]).map((message) => `mcp.${nameOf(message, tools) ?? "unknown"}`)
  )
  const [operation = "mcp.unknown", ...others] = operations
  return others.length === 0 ? operation : "mcp.several"
}
