import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import packageJson from "../../../package.json" with { type: "json" }
import { newConnection, rpcOf } from "../../support/Mcp.ts"
import { bodyOf, metricsText, serviceLayer, type Answer } from "../../support/TestService.ts"
import { meta, protocolVersion, rpc, send, sendModern, type Failed } from "./Messages.ts"

const assertFails = (answer: Answer, status: number, code: number) => {
  assert.strictEqual(answer.status, status, answer.text)
  assert.strictEqual(answer.headers.get("content-type"), "application/json")
  const failed = bodyOf<Failed>(answer)
  assert.strictEqual(failed.error.code, code)
  return failed
}

const resultOf = (answer: Answer) => {
  assert.strictEqual(answer.status, 200, answer.text)
  return bodyOf<{ result: Record<string, unknown> }>(answer).result
}

layer(serviceLayer(), { excludeTestServices: true })("The modern wire", (it) => {
  it.effect("22 tells of the server and of its revisions", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const result = resultOf(yield* sendModern(token, "server/discover"))
      assert.include(result["supportedVersions"] as ReadonlyArray<string>, protocolVersion)
      assert.match(String(result["instructions"]), /list_tables/)
      assert.strictEqual(result["resultType"], "complete")
      assert.isAbove(Number(result["ttlMs"]), 0)
      assert.strictEqual(result["cacheScope"], "private")
      const told = (result["_meta"] as Record<string, unknown>)["io.modelcontextprotocol/serverInfo"]
      assert.deepInclude(told, { name: "agent-memory", version: packageJson.version })
    })
  )

  it.effect("23 lets a client alone keep the list for a while, which has the same order each time", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const first = resultOf(yield* sendModern(token, "tools/list"))
      assert.isAbove(Number(first["ttlMs"]), 0)
      assert.strictEqual(first["cacheScope"], "private")
      assert.deepStrictEqual(resultOf(yield* sendModern(token, "tools/list"))["tools"], first["tools"])
    })
  )

  it.effect("24 refuses headers that do not say what the message says", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const version = { "mcp-protocol-version": protocolVersion }
      assertFails(yield* send(token, rpc("tools/list", { _meta: meta }), version), 400, -32_020)
      assertFails(yield* sendModern(token, "tools/list", {}, { "mcp-method": "tools/call" }), 400, -32_020)
      const call = { name: "list_tables", arguments: {} }
      assertFails(yield* sendModern(token, "tools/call", call), 400, -32_020)
      assertFails(yield* sendModern(token, "tools/call", call, { "mcp-name": "query" }), 400, -32_020)
      assertFails(yield* send(token, rpc("tools/list", { _meta: meta }), { "mcp-method": "tools/list" }), 400, -32_020)
      const encoded = `=?base64?${Buffer.from("list_tables").toString("base64")}?=`
      for (const name of ["list_tables", encoded]) {
        assert.property(
          resultOf(yield* sendModern(token, "tools/call", call, { "mcp-name": name })),
          "structuredContent"
        )
      }
    })
  )

  it.effect("25 wants a revision and capabilities with each request, and no name of the client", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const headers = { "mcp-protocol-version": protocolVersion, "mcp-method": "tools/list" }
      assertFails(yield* send(token, rpc("tools/list"), headers), 400, -32_602)
      assertFails(yield* send(token, rpc("tools/list", {}), headers), 400, -32_602)
      const { "io.modelcontextprotocol/clientCapabilities": _, ...incapable } = meta
      assertFails(yield* send(token, rpc("tools/list", { _meta: incapable }), headers), 400, -32_602)
      assert.notProperty(meta, "io.modelcontextprotocol/clientInfo")
      assert.property(resultOf(yield* sendModern(token, "tools/list")), "tools")
    })
  )

  it.effect("26 tells an unknown revision the known ones, and knows no unknown method", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const later = "2030-01-01"
      const params = { _meta: { ...meta, "io.modelcontextprotocol/protocolVersion": later } }
      const headers = { "mcp-protocol-version": later, "mcp-method": "tools/list" }
      const { error } = assertFails(yield* send(token, rpc("tools/list", params), headers), 400, -32_022)
      assert.deepStrictEqual(error.data, { supported: [protocolVersion], requested: later })
      for (const method of ["foo/bar", "initialize", "ping", "resources/list"]) {
        assert.strictEqual(assertFails(yield* sendModern(token, method), 404, -32_601).id, 1)
      }
    })
  )

  it.effect("28 promises no notification, whatever a subscription asks for, and ends it at once by its id", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const asked = {
        toolsListChanged: true,
        promptsListChanged: true,
        resourcesListChanged: true,
        resourceSubscriptions: ["file:///a"]
      }
      for (const notifications of [asked, {}]) {
        const answer = yield* sendModern(token, "subscriptions/listen", { notifications })
        assert.strictEqual(answer.headers.get("content-type"), "text/event-stream")
        const [first, last, ...rest] = [...answer.text.matchAll(/^data: (.*)$/gm)].map(
          (match) => JSON.parse(match[1]!) as Record<string, unknown>
        )
        assert.isEmpty(rest)
        const subscription = { "io.modelcontextprotocol/subscriptionId": 1 }
        assert.deepStrictEqual(first, {
          jsonrpc: "2.0",
          method: "notifications/subscriptions/acknowledged",
          params: { notifications: {}, _meta: subscription }
        })
        assert.deepInclude(last, { id: 1 })
        const result = last!["result"] as { resultType: string; _meta: object }
        assert.strictEqual(result.resultType, "complete")
        assert.deepInclude(result._meta, subscription)
      }
      const { capabilities } = resultOf(yield* sendModern(token, "server/discover")) as { capabilities: unknown }
      assert.deepStrictEqual(capabilities, { tools: {} })
    })
  )

  it.effect("28 holds no subscription open, so that no number of them needs a cap or an end at a stop", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const listen = sendModern(token, "subscriptions/listen", { notifications: { toolsListChanged: true } })
      yield* Effect.all(
        Array.from({ length: 50 }, () => listen),
        { concurrency: 10, discard: true }
      ).pipe(Effect.timeout("10 seconds"))
      const text = yield* metricsText
      // The request for the metrics itself.
      assert.match(text, /^agent_memory_http_requests_in_flight 1$/m)
    })
  )

  it.effect("28 refuses a subscription that does not say to what", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const params of [{}, { notifications: true }]) {
        const answer = yield* sendModern(token, "subscriptions/listen", params)
        assert.strictEqual(rpcOf<Failed>(answer).error.code, -32_602)
      }
    })
  )

  it.effect("41 does not know a tool that there is not, in either era", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      for (const name of ["nope", "constructor", ""]) {
        const call = { name, arguments: {} }
        const legacy = yield* send(token, rpc("tools/call", call))
        assert.strictEqual(legacy.status, 200)
        assert.strictEqual(rpcOf<Failed>(legacy).error.code, -32_602)
        if (name === "") continue
        const modern = yield* sendModern(token, "tools/call", call, { "mcp-name": name })
        assert.strictEqual(rpcOf<Failed>(modern).error.code, -32_602)
      }
    })
  )
})
