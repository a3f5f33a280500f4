import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { newConnection, rpcOf } from "../../support/Mcp.ts"
import { callMcp } from "../../support/OAuth.ts"

/** A JSON Schema as the tools' are: plain, everything in its place. */
export interface PlainSchema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, PlainSchema>>
  readonly items?: PlainSchema
  readonly required?: ReadonlyArray<string>
  readonly [keyword: string]: unknown
}

/** A tool as clients are told of it. */
export interface ListedTool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: PlainSchema
  readonly outputSchema: PlainSchema
  readonly annotations: Readonly<Record<string, unknown>>
}

/** The tools that a connection is told of. */
export const toolsOf = Effect.fnUntraced(function* (token: string) {
  const answer = yield* callMcp(token, { body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' })
  assert.strictEqual(answer.status, 200, answer.text)
  return rpcOf<{ result: { tools: ReadonlyArray<ListedTool> } }>(answer).result.tools
})

/** What a person chooses on the consent page. */
export const choices = {
  full: { decision: "allow", access: "full" },
  read: { decision: "allow", access: "read" },
  tables: { decision: "allow", access: "tables", other_tables: "notes, plans" }
} as const

/** A new connection with narrowed access, to a new account or to a person's. */
export const narrowed = (access: keyof typeof choices, of?: Parameters<typeof newConnection>[1]) =>
  newConnection(choices[access], of)
