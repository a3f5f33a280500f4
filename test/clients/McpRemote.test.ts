import { assert } from "@effect/vitest"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { Effect } from "effect"
import { createRequire } from "node:module"
import { join } from "node:path"
import { clientSuite, clientTimeout, makeOwnersHome, McpService, type Home } from "../support/ClientTools.ts"

const require = createRequire(import.meta.url)
const file = require.resolve("mcp-remote/dist/proxy.js")

/** Starts the proxy as a client that speaks only stdio does, asks for the tools and calls one. */
const useTools = Effect.fnUntraced(function* (mcp: string, home: Home) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [file, mcp],
    env: { ...home.variables, MCP_REMOTE_CONFIG_DIR: join(home.folder, "mcp-remote") },
    stderr: "pipe"
  })
  let printed = ""
  transport.stderr?.on("data", (text: Buffer) => (printed += text.toString()))
  const client = yield* Effect.acquireRelease(
    Effect.sync(() => new Client({ name: "test", version: "1" })),
    (client) => Effect.promise(() => client.close())
  )
  const used = yield* Effect.promise(async () => {
    try {
      await client.connect(transport, { timeout: 40_000 })
      const { tools } = await client.listTools()
      return { tools, called: await client.callTool({ name: "count", arguments: { table: "nothing" } }) }
    } catch (error) {
      throw new Error(`mcp-remote gives no tools:\n${printed}${home.browserFaults()}`, { cause: error })
    }
  })
  return { ...used, printed }
})

clientSuite("mcp-remote", (it) => {
  it.effect(
    "logs in through the browser, lists and calls the tools over stdio, and starts again without a login",
    () =>
      Effect.gen(function* () {
        const { mcp } = yield* McpService
        const home = yield* makeOwnersHome
        const first = yield* Effect.scoped(useTools(mcp, home))
        assert.lengthOf(first.tools, 20)
        assert.deepStrictEqual(first.called.structuredContent, { count: 0 })
        assert.include(first.printed, "/authorize?")
        const second = yield* Effect.scoped(useTools(mcp, home))
        assert.deepStrictEqual(second.called.structuredContent, { count: 0 })
        assert.notInclude(second.printed, "/authorize?")
      }),
    clientTimeout
  )
})
