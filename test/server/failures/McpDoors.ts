import { meta, protocolVersion, rpc } from "../mcp/Messages.ts"
import { json, jsonWorst, type Door, type Expected } from "./Doors.ts"

/** A good call of each tool, for an account with a row of this id in the table `notes`. */
const callsOf = (id: string): Readonly<Record<string, object>> => {
  const table = "notes"
  const memory = { title: "a title", content: "a content", tags: ["a tag"], key: ["title"] }
  return {
    list_tables: {},
    search: { search: "a note" },
    query: { table, filter: { n: 1 }, search: "a", sort: "n", fields: ["n"], limit: 1, includeLink: false },
    count: { table, filter: { n: 1 }, search: "a", by: "kind", sum: "n", min: "n", max: "n", avg: "n" },
    add: { table, row: { n: 1 }, idempotencyKey: "k" },
    upsert: { table, key: ["n"], row: { n: 1 } },
    update_row: { table, id, patch: { n: 1 }, edits: [{ op: "push", field: "a", value: 1 }] },
    update_where: { table, filter: { n: 1 }, search: "a", patch: { n: 1 }, allowMultiple: true },
    batch: { table, operations: [{ action: "add", row: { n: 1 } }], dryRun: true },
    delete: { table, filter: { n: 1 }, search: "a", dryRun: true },
    versions: { table, id },
    restore: { table, id, version: 1 },
    remember: { type: "markdown", ...memory },
    remember_resource: { url: "https://example.com", ...memory },
    remember_code: memory,
    remember_markdown: memory,
    remember_command: memory,
    remember_config: memory,
    open_row: { table, id },
    open_text_field: { table, id, field: "kind" }
  }
}

/** How long the arguments of a tool that writes one row may be; a batch's only end with the body. */
const argumentBytes = 450_000

const isOfArguments = (place: string): boolean => place.startsWith("/params/arguments")

/** What of a tool's arguments may be any text: the name of a field, an id that nothing has. */
const anyText: Readonly<Record<string, ReadonlyArray<string>>> = {
  query: ["sort"],
  count: ["by", "sum", "min", "max", "avg"],
  versions: ["id"]
}

const expectedOf = (tool: string, shape: string, place: string): Expected => {
  // What never ends is no message, wherever it begins.
  if (shape === "an endless depth") return ["-32700"]
  const isText = shape === "a long text" || shape === "escapes"
  if (isText && anyText[tool]?.some((name) => place === `/params/arguments/${name}`) === true) return "legal"
  return isOfArguments(place)
    ? ["invalid_request", "row_too_large", "invalid_table_name", "row_not_found", "version_not_found"]
    : ["-32600"]
}

/** The methods and tools of /mcp, as clients of both eras call them. */
export const mcpDoors = (token: string, tools: ReadonlyArray<string>, id: string): ReadonlyArray<Door> => {
  const legacy = { ...json, accept: "application/json, text/event-stream", authorization: `Bearer ${token}` }
  const calls = callsOf(id)
  const door = (name: string, tool: string, headers: Door["headers"], sample: object): Door => {
    const room = (place: string) =>
      isOfArguments(place) && tool !== "batch" ? argumentBytes : Number.POSITIVE_INFINITY
    const expects = (shape: string, place: string) => expectedOf(tool, shape, place)
    return {
      name,
      headers,
      method: "POST",
      path: "/mcp",
      worst: jsonWorst("/mcp", [JSON.stringify(sample)], expects, room)
    }
  }
  const inBothEras = (name: string, method: string, params: object): ReadonlyArray<Door> => {
    const called = method === "tools/call" ? { "mcp-name": name } : {}
    const modern = { ...legacy, "mcp-protocol-version": protocolVersion, "mcp-method": method, ...called }
    return [
      door(name, name, legacy, rpc(method, params)),
      door(`${name} (modern)`, name, modern, rpc(method, { ...params, _meta: meta }))
    ]
  }
  return [
    ...["ping", "tools/list", "server/discover", "initialize"].flatMap((method) => inBothEras(method, method, {})),
    ...tools.flatMap((name) => inBothEras(name, "tools/call", { name, arguments: calls[name] }))
  ]
}
