import type { JsonIssue } from "../../domain/json/JsonIssue.ts"
import { parseEnvelope, type EnvelopeShape } from "../../domain/json/ParseEnvelope.ts"

const callOf = (argumentsShape: EnvelopeShape): EnvelopeShape => ({
  kind: "object",
  members: new Map([["params", { kind: "object", members: new Map([["arguments", argumentsShape]]) }]])
})

/** A parsed body of `/mcp`. `faultOf` is why the arguments of the call with an id can't be taken, though it is JSON of a kind. */
export interface Message {
  readonly body: unknown
  readonly faultOf: (id: unknown) => JsonIssue | undefined
}

/**
 * Reads the JSON-RPC messages of a body, with rows, patches and filters as exact text. Text that breaks the service's own
 * rules but is JSON, such as an object with a name twice, is read too: its call is known, and can be refused by its id.
 * None where it is no JSON at all.
 */
export const readMessage = (text: string, argumentsShape: EnvelopeShape): Message | undefined => {
  const call = callOf(argumentsShape)
  const isBatch = /^\s*\[/.test(text)
  const parsed = parseEnvelope(text, isBatch ? { kind: "array", items: call } : call)
  if (parsed.issue === undefined) return messageOf(parsed.value, () => undefined)
  const { issue } = parsed
  try {
    const body: unknown = JSON.parse(text)
    const culprit = Array.isArray(body) ? idOf(body[Number(issue.pointer.split("/")[1])]) : undefined
    return messageOf(body, (id) => (isBatch && id !== culprit ? unread : issue))
  } catch {
    return undefined
  }
}

/** Nothing of a batch was read exactly where one of its calls can't be. */
const unread: JsonIssue = {
  code: "invalid_request",
  pointer: "/params/arguments",
  message: "Another call of this batch can't be read, so that none was carried out."
}

const messageOf = (body: unknown, otherwise: Message["faultOf"]): Message => {
  const faults = new Map((Array.isArray(body) ? body : [body]).map((call) => [idOf(call), callFault(call)]))
  return { body, faultOf: (id) => faults.get(id) ?? otherwise(id) }
}

const idOf = (message: unknown): unknown => (isObject(message) && "id" in message ? message.id : undefined)

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Why the arguments of a call can't be given to its tool, where they can't. */
const callFault = (body: unknown): JsonIssue | undefined => {
  if (!isObject(body) || !("params" in body) || !isObject(body.params) || !("arguments" in body.params))
    return undefined
  const { params } = body
  const args = params.arguments
  if (isObject(args)) return lostArgument(args)
  // The protocol's own refusal would say it in the words of a schema, and to the client alone.
  params.arguments = {}
  // What some clients send for no arguments.
  if (args === null) return undefined
  return { code: "invalid_request", pointer: "/params/arguments", message: notAnObject(args) }
}

const notAnObject = (args: unknown): string =>
  typeof args === "string"
    ? 'arguments must be a JSON object itself, for example {"table":"tasks"}, not a string that holds one.'
    : 'arguments must be a JSON object, for example {"table":"tasks"}; a tool without arguments takes {}.'

/** An argument named `__proto__` would be lost on its way to the tool, and with it the word that it is not known. */
const lostArgument = (args: object): JsonIssue | undefined =>
  Object.hasOwn(args, "__proto__")
    ? { code: "invalid_request", pointer: "/params/arguments/__proto__", message: "is not known here" }
    : undefined
