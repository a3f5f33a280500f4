import { assert, describe, it, layer } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { otlpCollector, Terminal } from "../../support/Captured.ts"
import { callTool, done, newConnection, rpcOf } from "../../support/Mcp.ts"
import { metricsText, serviceLayer } from "../../support/TestService.ts"
import { initialize, rpc, send, sendModern, type Failed } from "./Messages.ts"

const takeLines = Effect.map(Terminal, ({ lines }) =>
  lines
    .splice(0)
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => "operation" in line)
)

layer(
  serviceLayer({ LOG_LEVEL: "info", LOG_FORMAT: "json" }).pipe(
    Layer.provideMerge(Terminal.layer),
    Layer.provideMerge(Layer.sync(Metric.MetricRegistry, () => new Map()))
  ),
  { excludeTestServices: true }
)("What is recorded of calls", (it) => {
  it.effect("has the tool, the account and the connection, and nothing that was sent", () =>
    Effect.gen(function* () {
      const { accountId, token } = yield* newConnection()
      yield* takeLines
      yield* done(token, "add", { table: "wombats", row: { name: "wombat" } })
      yield* callTool(token, "add", { table: "wombats", row: { id: "wombat" } })
      const lines = yield* takeLines
      assert.lengthOf(lines, 2)
      for (const line of lines) {
        assert.deepInclude(line, { level: "info", operation: "mcp.add", status: 200, account_id: accountId })
        assert.isString(line["connection_id"])
      }
      assert.notProperty(lines[0], "code")
      assert.strictEqual(lines[1]!["code"], "reserved_field")
      assert.notInclude(JSON.stringify(lines), "wombat")
    })
  )

  it.effect("has few operations, whatever clients send", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      yield* takeLines
      yield* send(token, initialize("2025-11-25"))
      yield* send(token, { jsonrpc: "2.0", method: "notifications/initialized" })
      yield* sendModern(token, "tools/list")
      yield* send(token, rpc("wombat", {}))
      yield* send(token, rpc("tools/call", { name: "wombat" }))
      yield* send(token, { jsonrpc: "2.0", method: "constructor" })
      yield* send(token, "{")
      yield* send(token, [rpc("ping"), rpc("ping", undefined, 2)])
      yield* send(token, [rpc("ping"), rpc("tools/list", undefined, 2)])
      const operations = (yield* takeLines).map(({ operation }) => operation)
      assert.deepStrictEqual(operations, [
        "mcp.initialize",
        "mcp.notifications/initialized",
        "mcp.tools/list",
        "mcp.unknown",
        "mcp.unknown",
        "mcp.unknown",
        "mcp.unknown",
        "mcp.ping",
        "mcp.several"
      ])
      const text = yield* metricsText
      assert.include(text, 'agent_memory_http_requests_total{operation="mcp.initialize",status="200"} 1')
      assert.notInclude(text, "wombat")
    })
  )

  it.effect("41 has the cause of a tool that breaks, of which its client is told an id alone", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { token } = yield* newConnection()
      yield* sql`
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'wombats burrow'; END $$
      `
      yield* sql`CREATE TRIGGER refuse BEFORE INSERT ON rows FOR EACH ROW EXECUTE FUNCTION refuse()`
      yield* takeLines
      const answer = yield* send(token, rpc("tools/call", { name: "add", arguments: { table: "t", row: {} } }))
      yield* sql`DROP TRIGGER refuse ON rows`
      assert.strictEqual(answer.status, 200)
      const { result } = rpcOf<{ result: { isError: boolean; content: ReadonlyArray<{ text: string }> } }>(answer)
      assert.strictEqual(result.isError, true)
      const id = answer.headers.get("x-request-id")!
      const told = JSON.parse(result.content[0]!.text) as Record<string, unknown>
      assert.deepInclude(told, { code: "internal_error", request_id: id })
      assert.notMatch(answer.text, /wombat|stack|\bat \/|trigger|SQL/i)
      const [line] = yield* takeLines
      assert.deepInclude(line, { level: "error", operation: "mcp.add", status: 200, request_id: id })
      assert.property(line, "errors")
      assert.strictEqual(rpcOf<Failed>(yield* send(token, rpc("ping")))["id"], 1)
    })
  )
})

describe("The trace of a call", () => {
  it.live("leads from the request through the tool to its statements", () =>
    Effect.gen(function* () {
      const collector = yield* otlpCollector
      const service = serviceLayer({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint })
      yield* Effect.scoped(
        Effect.flatMap(Layer.build(service), (context) =>
          Effect.provideContext(
            Effect.flatMap(newConnection(), ({ token }) => done(token, "query", { table: "wombats" })),
            context
          )
        )
      )
      const spans = collector.spans()
      const tool = spans.find(({ name }) => name === "mcp.query")!
      const parent = (id: string | undefined): ReadonlyArray<string> => {
        const span = spans.find(({ spanId }) => spanId === id)
        return span === undefined ? [] : [span.name, ...parent(span.parentSpanId)]
      }
      assert.strictEqual(parent(tool.parentSpanId).at(-1), "POST /mcp")
      assert.isTrue(spans.some(({ parentSpanId }) => parent(parentSpanId).includes("mcp.query")))
      assert.notInclude(JSON.stringify(spans), "wombats")
    })
  )
})
