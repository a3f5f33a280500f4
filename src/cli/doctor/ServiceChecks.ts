import { type Settings } from "../../server/config/Settings.ts"
import { type Answer, type Finding, findingsOf, get, type NoAnswer, objectOf } from "./Finding.ts"
import { Config, Effect, Option, Redacted, Result } from "effect"

const isService = (answer: Result.Result<Answer, NoAnswer>): boolean =>
  Result.isSuccess(answer) && answer.success.status === 200 && objectOf(answer.success.text)["status"] === "ok"

const localUrlOf = ({ host, port }: Settings["Service"]): string => {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : host.includes(":") ? `[${host}]` : host
  return `http://${reached}:${port}`
}

/** Whether `BASE_URL` leads to the service, and whether the service is ready. */
export const publicUrl = Effect.fnUntraced(function* (settings: Settings["Service"]) {
  const check = findingsOf("public URL")
  const { baseUrl } = settings
  const local = localUrlOf(settings)
  const [there, here] = yield* Effect.all(
    [Effect.result(get(`${baseUrl}/health`)), Effect.result(get(`${local}/health`))],
    { concurrency: 2 }
  )
  if (isService(there)) {
    const ready = yield* Effect.result(get(`${baseUrl}/ready`))
    if (Result.isSuccess(ready) && ready.success.status === 200) return check.ok(`${baseUrl} leads to the service`)
    return check.failed(`${baseUrl} leads to the service, which is not ready`, "See the database check and the log.")
  }
  const what = Result.isFailure(there)
    ? there.failure.message
    : `responds with ${there.success.status}, not like Agent Memory`
  if (isService(here)) {
    return check.failed(
      `the service runs at ${local}, but ${baseUrl} does not lead to it: ${what}`,
      `Make the proxy of ${baseUrl} forward every path to ${local}; check DNS, firewall and certificate. Or correct BASE_URL.`
    )
  }
  return check.failed(
    `no service responds at ${baseUrl}: ${what}`,
    "Start it with `agent-memory`. If it is running, give this command the same settings, or correct BASE_URL, HOST and PORT."
  )
})

const documentsOf = (baseUrl: string) => [
  { path: "/.well-known/oauth-protected-resource", member: "resource", value: `${baseUrl}/mcp` },
  { path: "/.well-known/oauth-protected-resource/mcp", member: "resource", value: `${baseUrl}/mcp` },
  { path: "/.well-known/oauth-authorization-server", member: "issuer", value: baseUrl },
  { path: "/.well-known/oauth-authorization-server/mcp", member: "issuer", value: baseUrl }
]

/** The finding, also if nothing responds. */
const unlessUnanswered = (check: string, finding: Effect.Effect<Finding, NoAnswer>): Effect.Effect<Finding> =>
  Effect.catch(finding, ({ message }) => Effect.succeed(findingsOf(check).failed(message, "See the public URL check.")))

/** Whether MCP clients find the metadata documents that they need, with the right URLs. */
export const documents = Effect.fnUntraced(
  function* ({ baseUrl }: Settings["Service"]) {
    const check = findingsOf("well-known documents")
    for (const { member, path, value } of documentsOf(baseUrl)) {
      const answer = yield* get(baseUrl + path)
      if (answer.status !== 200) {
        return check.failed(`${path} responds with ${answer.status}`, `Make the proxy forward ${path} to the service.`)
      }
      const found = objectOf(answer.text)[member]
      if (found !== value) {
        return check.failed(
          `${path} says that ${member} is ${JSON.stringify(found)}, but should be ${value}`,
          `Start the service with BASE_URL=${baseUrl}; all its URLs start with that.`
        )
      }
    }
    return check.ok(`all four name ${baseUrl}`)
  },
  (finding) => unlessUnanswered("well-known documents", finding)
)

/** Whether the service is reachable by https only, and its redirects stay on https. */
export const proxyScheme = Effect.fnUntraced(function* ({ baseUrl }: Settings["Service"]) {
  const check = findingsOf("proxy scheme")
  if (!baseUrl.startsWith("https:")) return check.skipped("BASE_URL is not https")
  const plain = baseUrl.replace(/^https:/, "http:").replace(/:\d+$/, "")
  const answer = yield* Effect.result(get(`${plain}/health`))
  if (isService(answer)) {
    return check.warning(
      `${plain} responds, too, so a key sent there is unencrypted`,
      "Make the proxy redirect http to https, or close port 80."
    )
  }
  const page = yield* Effect.result(get(`${baseUrl}/connections`))
  const location = Result.isSuccess(page) ? (page.success.headers.get("location") ?? "") : ""
  if (location.startsWith("http:")) {
    return check.failed(
      `${baseUrl} redirects to ${location}`,
      "The proxy rewrites Location headers. Make it forward them unchanged."
    )
  }
  return check.ok("https only")
})

const tokenVariable = "AGENT_MEMORY_ACCESS_TOKEN"
const keyVariable = "AGENT_MEMORY_API_KEY"

const rpc = (id: number, method: string, params: object) => JSON.stringify({ jsonrpc: "2.0", id, method, params })

const initialize = rpc(1, "initialize", {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "agent-memory doctor", version: "1" }
})

const ask = (baseUrl: string, body: string, token?: string) =>
  get(`${baseUrl}/mcp`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` })
    },
    body
  })

/** The message of a response that is JSON or a stream with one event. */
const messageOf = ({ text }: Answer) => objectOf(/^data: (.*)$/m.exec(text)?.[1] ?? text)

const challenge = Effect.fnUntraced(function* (baseUrl: string) {
  const check = findingsOf("MCP sign-in")
  const answer = yield* ask(baseUrl, initialize)
  const header = answer.headers.get("www-authenticate") ?? ""
  const metadata = /resource_metadata="([^"]+)"/.exec(header)?.[1]
  if (answer.status !== 401 || metadata === undefined) {
    return check.failed(
      `/mcp responds with ${answer.status} instead of 401 with a challenge`,
      "Make the proxy forward POST /mcp with its body and Authorization header, and the response's WWW-Authenticate header."
    )
  }
  const document = yield* get(metadata)
  return document.status === 200
    ? check.ok(`/mcp directs clients to ${metadata}`)
    : check.failed(`${metadata} responds with ${document.status}`, "See the well-known documents check.")
})

const roundTrip = Effect.fnUntraced(function* (baseUrl: string) {
  const check = findingsOf("MCP round trip")
  const token = yield* Effect.orDie(Config.option(Config.Redacted(tokenVariable)))
  if (Option.isNone(token)) return check.skipped(`set ${tokenVariable} to a connection's access token to test it`)
  const secret = Redacted.value(token.value)
  const first = yield* ask(baseUrl, initialize, secret)
  const listed = yield* ask(baseUrl, rpc(2, "tools/list", {}), secret)
  const tools = (messageOf(listed)["result"] as { readonly tools?: ReadonlyArray<unknown> } | undefined)?.tools
  if (first.status === 200 && tools !== undefined)
    return check.ok(`initialize, and tools/list with ${tools.length} tools`)
  return check.failed(
    `initialize responds with ${first.status}, tools/list with ${listed.status}`,
    first.status === 401 ? "The access token is unknown, revoked or expired. Use a new one." : "See the service's log."
  )
})

const apiKey = Effect.fnUntraced(function* (baseUrl: string) {
  const check = findingsOf("API key")
  const key = yield* Effect.orDie(Config.option(Config.Redacted(keyVariable)))
  if (Option.isNone(key)) return check.skipped(`set ${keyVariable} to test one`)
  const answer = yield* get(`${baseUrl}/v1/_usage`, {
    headers: { authorization: `Bearer ${Redacted.value(key.value)}` }
  })
  return answer.status === 200
    ? check.ok(`gives access to account ${String(objectOf(answer.text)["account_id"])}`)
    : check.failed(
        `/v1 responds with ${answer.status}`,
        answer.status === 401 ? "Create one with `agent-memory keys create --email …`." : "See the service's log."
      )
})

/** Whether agents and programs can authenticate. */
export const access = ({ baseUrl }: Settings["Service"]): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.all([
    unlessUnanswered("MCP sign-in", challenge(baseUrl)),
    unlessUnanswered("MCP round trip", roundTrip(baseUrl)),
    unlessUnanswered("API key", apiKey(baseUrl))
  ])
