import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { dialects, type Dialect } from "./Dialects.ts"
import { stepsFor } from "./Script.ts"

/** What became of an agent's steps, as its model was told. */
interface Seen {
  readonly agent: string
  /** The text that each call gave, in order. */
  readonly results: Array<string>
  /** The service's tools that the model was offered, whatever the agent calls them. */
  tools: ReadonlyArray<string>
}

/** A model API on this machine that follows the script, whoever asks it. */
export interface FakeModel {
  readonly url: string
  readonly seen: () => Seen
  /** The agent that asks from now on. */
  readonly serve: (agent: string) => void
  readonly close: () => void
}

/** The JSON object in a tool's answer, which some clients put words around. */
export const objectIn = (text: string): Record<string, unknown> => {
  try {
    return JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)) as Record<string, unknown>
  } catch {
    return {}
  }
}

const bodyOf = async (request: IncomingMessage): Promise<Record<string, unknown>> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += chunk as string
  return text === "" ? {} : objectIn(text)
}

const answer = (response: ServerResponse, dialect: Dialect, body: Record<string, unknown>, seen: Seen) => {
  const tools = dialect.tools(body).map((tool) => ({ ...tool, path: `${tool.namespace ?? ""}__${tool.name}` }))
  const results = dialect.results(body)
  const step = stepsFor(seen.agent)[results.length]
  const offered = step && tools.find(({ path }) => new RegExp(`memory_+${step.tool}$`).test(path))
  if (tools.length > 0) {
    seen.tools = tools.flatMap(({ path }) => (path.includes("memory_") ? [path] : []))
    seen.results.splice(0, Infinity, ...results)
  }
  const events =
    step === undefined || offered === undefined
      ? dialect.says("All done.")
      : dialect.calls(offered, step.args(results.map(objectIn)), `call_${results.length}`)
  if (body["stream"] === true) {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.end(events.stream)
  } else {
    response.writeHead(200, { "content-type": "application/json" })
    response.end(JSON.stringify(events.whole))
  }
}

/** Starts the model API. */
export const startFakeModel = async (): Promise<FakeModel> => {
  const fresh = (agent: string): Seen => ({ agent, results: [], tools: [] })
  let seen = fresh("nobody")
  const server = createServer((request, response) => {
    const path = (request.url ?? "").split("?", 1)[0]!
    const dialect = dialects.find(({ path: suffix }) => path.endsWith(suffix))
    void bodyOf(request).then((body) => {
      if (request.method === "POST" && dialect !== undefined) return answer(response, dialect, body, seen)
      response.writeHead(404, { "content-type": "application/json" })
      response.end('{"error":{"message":"not here"}}')
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen: () => seen,
    serve: (agent) => void (seen = fresh(agent)),
    close: () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
