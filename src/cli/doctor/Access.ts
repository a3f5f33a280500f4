import { Config, Effect, Option, Redacted } from "effect"
import type { Settings } from "../../server/Config.ts"
import { get, objectOf, type Answer } from "./Fetch.ts"
import { failed, ok, skipped, type Finding } from "./Finding.ts"

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

/** The message of an answer, be it JSON or the one event of a stream. */
const messageOf = ({ text }: Answer) => objectOf(/^data: (.*)$/m.exec(text)?.[1] ?? text)

/** Whether a client without a token is sent to the sign-in. */
const challenge = Effect.fnUntraced(function* (baseUrl: string) {
  const check = "MCP sign-in"
  const answer = yield* ask(baseUrl, initialize)
  const header = answer.headers.get("www-authenticate") ?? ""
  const metadata = /resource_metadata="([^"]+)"/.exec(header)?.[1]
  if (answer.status !== 401 || metadata === undefined) {
    return failed(
      check,
      `/mcp answers ${answer.status} instead of 401 with a challenge`,
      "Let the proxy pass POST /mcp on, with its body, its Authorization and the answer's WWW-Authenticate header."
    )
  }
  const document = yield* get(metadata)
  return document.status === 200
    ? ok(check, `/mcp sends clients to ${metadata}`)
    : failed(check, `${metadata} answers ${document.status}`, "See the check of the well-known documents.")
})

/** A round trip as an agent makes it, where there is a token for it. */
const roundTrip = Effect.fnUntraced(function* (baseUrl: string) {
  const check = "MCP round trip"
  const token = yield* Effect.orDie(Config.option(Config.Redacted(tokenVariable)))
  if (Option.isNone(token)) return skipped(check, `set ${tokenVariable} to the access token of a connection to try it`)
  const secret = Redacted.value(token.value)
  const first = yield* ask(baseUrl, initialize, secret)
  const listed = yield* ask(baseUrl, rpc(2, "tools/list", {}), secret)
  const tools = (messageOf(listed)["result"] as { readonly tools?: ReadonlyArray<unknown> } | undefined)?.tools
  if (first.status === 200 && tools !== undefined)
    return ok(check, `initialize, and tools/list with ${tools.length} tools`)
  return failed(
    check,
    `initialize answers ${first.status}, tools/list ${listed.status}`,
    first.status === 401 ? "The token is over after an hour: take a fresh one." : "See the service's log."
  )
})

const apiKey = Effect.fnUntraced(function* (baseUrl: string) {
  const check = "API key"
  const key = yield* Effect.orDie(Config.option(Config.Redacted(keyVariable)))
  if (Option.isNone(key)) return skipped(check, `set ${keyVariable} to try one`)
  const answer = yield* get(`${baseUrl}/v1/_usage`, {
    headers: { authorization: `Bearer ${Redacted.value(key.value)}` }
  })
  return answer.status === 200
    ? ok(check, `opens account ${String(objectOf(answer.text)["account_id"])}`)
    : failed(
        check,
        `/v1 answers ${answer.status}`,
        answer.status === 401 ? "Make one with `agent-memory keys create --email …`." : "See the service's log."
      )
})

/** Whether agents and programs get in. */
export const access = Effect.fnUntraced(function* ({ baseUrl }: Settings["Service"]) {
  const findings: Array<Finding> = []
  for (const [check, run] of [
    ["MCP sign-in", challenge],
    ["MCP round trip", roundTrip],
    ["API key", apiKey]
  ] as const) {
    const finding = yield* Effect.catch(run(baseUrl), ({ message }) =>
      Effect.succeed(failed(check, message, "See the check of the public URL."))
    )
    findings.push(finding)
  }
  return findings
})
