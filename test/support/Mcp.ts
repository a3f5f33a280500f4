import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { callMcp, connect, newClient, newPerson, type Person } from "./OAuth.ts"
import type { Answer } from "./TestService.ts"

/** A client of /mcp that a person let in. */
interface Connected extends Person {
  readonly token: string
}

/** Lets a new client in to a new account, or to a person's. */
export const newConnection = Effect.fnUntraced(function* (
  fields: Readonly<Record<string, string>> | URLSearchParams = { decision: "allow", access: "full" },
  of?: Person
) {
  const person = of ?? (yield* newPerson)
  const { access_token } = yield* connect(person, yield* newClient(), fields)
  return { ...person, token: access_token } satisfies Connected
})

/** The JSON-RPC answer of a response, which legacy eras get as an event stream. */
const rpcText = (answer: Answer): string => {
  const data = /^data: ([^\n]*)$/m.exec(answer.text)?.[1]
  return data ?? answer.text
}

export const rpcOf = <A = Record<string, unknown>>(answer: Answer): A => JSON.parse(rpcText(answer)) as A

/** What a tool answers. */
export interface ToolAnswer {
  readonly isError?: boolean
  readonly content: ReadonlyArray<{ readonly type: string; readonly text: string }>
  readonly structuredContent?: Record<string, unknown>
}

const writesRows = /^(?:add|upsert|update_row|update_where|batch|restore|remember(?:_[a-z]+)?)$/

/** Tests look at what a write stored: it returns its rows, unless its arguments say what it shall return. */
export const withRows = (name: string, args: string): string =>
  writesRows.test(name) && args.startsWith("{") && !args.includes('"returnRows"')
    ? args.replace(/^\{(\s*\})?/, (_, end: string | undefined) => `{"returnRows":true${end ?? ","}`)
    : args

/** Calls a tool with arguments given as JSON text, and gives the whole answer's text. */
export const callToolText = Effect.fnUntraced(function* (token: string, name: string, given: string) {
  const args = withRows(name, given)
  const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":${args}}}`
  const answer = yield* callMcp(token, { body })
  assert.strictEqual(answer.status, 200, answer.text)
  return rpcText(answer)
})

/** Calls a tool with arguments given as bytes, which may be no JSON at all, and gives the answer as it came. */
export const callToolBytes = (token: string, name: string, args: Uint8Array) => {
  const head = Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"${name}","arguments":`)
  const body = new Uint8Array(Buffer.concat([head, args, Buffer.from("}}")]))
  return callMcp(token, { body })
}

/** Calls a tool. */
export const callTool = Effect.fnUntraced(function* (token: string, name: string, args: unknown = {}) {
  const text = yield* callToolText(token, name, typeof args === "string" ? args : JSON.stringify(args))
  const { error, result } = JSON.parse(text) as { result?: ToolAnswer; error?: unknown }
  assert.isDefined(result, JSON.stringify(error))
  return result!
})

/** The structured content of a call that must succeed. */
export const done = Effect.fnUntraced(function* (token: string, name: string, args: unknown = {}) {
  const result = yield* callTool(token, name, args)
  assert.isUndefined(result.isError, result.content[0]?.text)
  return result.structuredContent as Record<string, unknown>
})

/** The places that a problem names: of several faults in its errors, of one at the start of its detail. */
export const placesOf = (problem: Readonly<Record<string, unknown>>): ReadonlyArray<string> => {
  const errors = problem["errors"] as ReadonlyArray<{ readonly path: string }> | undefined
  return errors?.map(({ path }) => path) ?? /^\/[^\s:]*/.exec(String(problem["detail"])) ?? []
}

/** The problem of a call that must be refused. */
export const refused = Effect.fnUntraced(function* (token: string, name: string, args: unknown = {}) {
  const result = yield* callTool(token, name, args)
  assert.strictEqual(result.isError, true, JSON.stringify(result))
  assert.notProperty(result, "structuredContent")
  return JSON.parse(result.content[0]!.text) as Record<string, unknown>
})
