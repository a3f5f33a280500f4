import { Layer } from "effect"
import { LoadHandler } from "../../../src/server/mcp/McpEndpoint.ts"
import { makeHandler, serverFor, type ServedRequest } from "../../../src/server/mcp/McpServer.ts"
import { fixtureTools } from "./FixtureTools.ts"

/** The server as it is, but with the suite's tools. */
const fixtureServer = (served: ServedRequest) => {
  const server = serverFor(served)
  server.setRequestHandler("tools/list", () => ({
    tools: fixtureTools.map(({ inputSchema, name }) => ({
      name,
      inputSchema,
      description: "For the conformance suite."
    }))
  }))
  server.setRequestHandler("tools/call", async ({ params }, context) => {
    const tool = fixtureTools.find(({ name }) => name === params.name)
    if (tool === undefined) throw new Error(`There is no tool ${params.name}.`)
    return await tool.run(context)
  })
  return server
}

/** Puts the suite's tools in the place of the product's; all around them stays. */
export const FixtureToolsLayer = Layer.succeed(LoadHandler, () => Promise.resolve(makeHandler(fixtureServer)))
