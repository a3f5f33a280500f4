import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { clientSuite, clientTimeout, McpService } from "../support/ClientTools.ts"
import { logInWith, pinnedClient, sdkClients } from "../support/SdkClients.ts"

const names = [
  "list_tables",
  "query",
  "search",
  "count",
  "add",
  "upsert",
  "update_row",
  "update_where",
  "batch",
  "delete",
  "versions",
  "restore",
  "remember",
  "remember_resource",
  "remember_code",
  "remember_markdown",
  "remember_command",
  "remember_config",
  "open_row",
  "open_text_field"
]

const row = { title: "Grüße 🌱", n: 1.5, isOpen: true, none: null, tags: ["a", { b: [] }], "a.b": { c: "d" } }

clientSuite("the tools in the official SDK's client", (it) => {
  for (const [name, open] of Object.entries({ ...sdkClients, "version 2, pinned": pinnedClient }))
    it.effect(
      `lists the 20 tools in their order, writes, reads the same back, and learns what was wrong (${name})`,
      () =>
        Effect.gen(function* () {
          const { mcp } = yield* McpService
          const { connection } = yield* logInWith(open, mcp)
          const tools = yield* Effect.promise(connection.tools)
          assert.deepStrictEqual(
            tools.map((tool) => tool.name),
            names
          )

          const call = (tool: string, args: Record<string, unknown>) =>
            Effect.promise(() => connection.call(tool, { table: "notes", ...args }))
          const key = name.replaceAll(/[^a-z0-9]/g, "-")
          const added = yield* call("add", { row: { ...row, client: name }, returnRows: true, idempotencyKey: key })
          const stored = (added.structuredContent as { readonly row: Record<string, unknown> }).row
          const { created_at, id, updated_at, ...own } = stored
          assert.deepStrictEqual(own, { ...row, client: name })
          assert.match(String(id), /^[0-9a-f-]{36}$/)
          assert.strictEqual(created_at, updated_at)

          const found = yield* call("query", { filter: { client: name } })
          assert.deepStrictEqual(found.structuredContent, { rows: [stored], has_more: false, matched: 1 })
          assert.deepStrictEqual(found.content, [{ type: "text", text: JSON.stringify(found.structuredContent) }])
          assert.isNotTrue(found.isError)

          const wrong = yield* call("query", { limit: 0 })
          assert.isTrue(wrong.isError)
          assert.isUndefined(wrong.structuredContent)
          const problem = JSON.parse(String(wrong.content[0]?.text)) as { readonly detail: string }
          assert.match(problem.detail, /^\/limit must be/)
        }),
      clientTimeout
    )
})
