import { connect, makeAccounts } from "../Accounts.ts"
import { connections, type Bench, type Row } from "../Bench.ts"
import { item, items } from "../Items.ts"
import type { LoadPlan } from "../Load.ts"
import { measure, underLoad, type Variant } from "../Measure.ts"
import { program, start, type Measured } from "../Processes.ts"
import { startService } from "../Service.ts"
import { startMemoryServer } from "./MemoryServer.ts"

type Request = Pick<LoadPlan, "method" | "path" | "headers" | "values"> & { readonly body?: string }

const call = (tool: string, args: string) =>
  `{"jsonrpc":"2.0","id":{n},"method":"tools/call","params":{"name":"${tool}","arguments":${args}}}`

const mcpHeaders = { accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-11-25" }

/** A query and an add over MCP beside the same over REST, the SDK's bare tool, and the reference memory server. */
export const measureMcp = async (bench: Bench): Promise<ReadonlyArray<Row>> => {
  const { effort, load, peers, server, serviceFile, tell } = bench
  const stops: Array<() => Promise<void>> = []
  const under = (name: string, measured: Measured, request: Request): Variant =>
    underLoad(name, [measured], load, server.cpu, { host: "127.0.0.1", connections, ...request })
  try {
    const databaseUrl = await server.database("mcp")
    // Tokens are bound to this address, which is not where the service listens.
    const baseUrl = "http://localhost:3000"
    const service = await startService(serviceFile, { DATABASE_URL: databaseUrl, BASE_URL: baseUrl })
    stops.push(service.stop)
    const values = []
    for (const { accountId, key } of await makeAccounts(databaseUrl, bench.isShort ? 2 : connections)) {
      values.push({ key, token: await connect(databaseUrl, baseUrl, accountId) })
    }
    const rest = { authorization: "Bearer {key}" }
    const over = { ...mcpHeaders, authorization: "Bearer {token}" }
    const rows = items(100).map((row) => `{"action":"add","row":${row}}`)
    const fillAll = { method: "POST", path: "/v1/list/batch", headers: rest, body: `{"operations":[${rows.join()}]}` }
    await under("", service, { ...fillAll, values }).measure(30, values.length)
    const bare = await start([program("BareMcp"), "{port}"], "/")
    stops.push(bare.stop)
    const bareTool = under("SDK's bare tool", bare, {
      method: "POST",
      path: "/mcp",
      headers: mcpHeaders,
      body: call("echo", "{}"),
      values: [{}]
    })
    const memory = "folder" in peers ? await startMemoryServer(peers.folder) : undefined
    if (memory !== undefined) stops.push(memory.stop)
    const notes = memory === undefined ? ["server-memory could not be installed."] : []
    const filter = encodeURIComponent('{"status":"open"}')
    tell("MCP: query")
    const query = await measure(
      [
        under("tools/call query", service, {
          method: "POST",
          path: "/mcp",
          headers: over,
          body: call("query", '{"table":"list","filter":{"status":"open"},"sort":"-n","limit":25}'),
          values
        }),
        under("REST", service, {
          method: "GET",
          path: `/v1/list?filter=${filter}&sort=-n&limit=25`,
          headers: rest,
          values
        }),
        bareTool,
        ...(memory === undefined ? [] : [memory.variant("search_nodes", () => ({ query: "item" }))])
      ],
      effort,
      server.settle
    )
    tell("MCP: add")
    const add = await measure(
      [
        under("tools/call add", service, {
          method: "POST",
          path: "/mcp",
          headers: over,
          body: call("add", `{"table":"items","row":${item("{n}", "open")},"idempotencyKey":"{run}-{n}"}`),
          values
        }),
        under("REST", service, {
          method: "POST",
          path: "/v1/items",
          headers: { ...rest, "idempotency-key": "{run}-{n}" },
          body: item("{n}", "open"),
          values
        }),
        bareTool,
        ...(memory === undefined
          ? []
          : [
              memory.variant("create_entities", (number) => ({
                entities: [{ name: `item ${number}`, entityType: "item", observations: [item(number, "open")] }]
              }))
            ])
      ],
      effort,
      server.settle
    )
    return [
      { name: "mcp-query", work: "MCP: query of 25 rows", outcomes: query, notes },
      { name: "mcp-add", work: "MCP: add", outcomes: add, notes }
    ]
  } finally {
    for (const stop of stops) await stop()
  }
}
