import { createMcpHandler, McpServer } from "@modelcontextprotocol/server"
import { createServer } from "node:http"
import { text } from "node:stream/consumers"

// The SDK's bare example: one tool that answers what it was given, behind node:http, without sign-in or database.

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "bare", version: "1.0.0" })
  server.registerTool("echo", { description: "Answers a fixed text." }, () => ({
    content: [{ type: "text", text: "ok" }]
  }))
  return server
})

createServer(async (request, response) => {
  if (request.method !== "POST") {
    response.writeHead(200, { "content-length": 2 }).end("ok")
    return
  }
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value))
  const answer = await handler.fetch(
    new Request(`http://localhost${request.url}`, { method: "POST", headers, body: await text(request) })
  )
  const body = Buffer.from(await answer.arrayBuffer())
  response.writeHead(answer.status, { ...Object.fromEntries(answer.headers), "content-length": body.length }).end(body)
}).listen(Number(process.argv[2]), "127.0.0.1")
