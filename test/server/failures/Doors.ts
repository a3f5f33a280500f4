import type { Account } from "../../support/ModelRun.ts"
import { meta, protocolVersion, rpc } from "../mcp/Messages.ts"
import { operations } from "../wire/Operations.ts"
import { formShapes, jsonShapes, placesOf } from "./WorstShapes.ts"

/** A bad request: what is in it, and where. */
interface Worst {
  readonly what: string
  readonly path: string
  readonly body?: () => string
}

/** A way into the service. `worst` are the bad requests of at most so many bytes. */
export interface Door {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** In bytes, where no refusal tells it. */
  readonly limit?: number
  readonly worst: (limit: number) => Iterable<Worst>
}

const json = { "content-type": "application/json" }
const form = { "content-type": "application/x-www-form-urlencoded" }
// The head of a request may have 32 KB.
const queryBytes = 30_000

const jsonWorst = (path: string, samples: ReadonlyArray<string>) =>
  function* (limit: number): Iterable<Worst> {
    for (const { fill, place } of samples.flatMap(placesOf)) {
      for (const [shape, make] of Object.entries(jsonShapes)) {
        yield { what: `${shape} at ${place}`, path, body: () => fill(make(limit - fill("").length)) }
      }
    }
  }

const formWorst = (path: string, names: ReadonlyArray<string>) =>
  function* (limit: number): Iterable<Worst> {
    for (const name of names) {
      for (const [shape, make] of Object.entries(formShapes)) {
        yield { what: `${shape} in ${name}`, path, body: () => make(name)(limit) }
      }
    }
  }

const queryWorst = (path: string, names: ReadonlyArray<string>) =>
  function* (limit: number): Iterable<Worst> {
    for (const name of names) {
      for (const [shape, make] of Object.entries(formShapes)) {
        yield { what: `${shape} in ${name}`, path: `${path}?${make(name)(limit)}` }
      }
    }
  }

const batchSamples = [
  '{"operations":[{"action":"add","row":{"n":1},"idempotencyKey":"k"}]}',
  '{"operations":[{"action":"upsert","key":"n","row":{"n":1}}]}',
  '{"operations":[{"action":"update_row","id":"i","patch":{"n":1}}]}',
  '{"operations":[{"action":"update_where","filter":{"n":1},"patch":{"n":1},"allowMultiple":true}]}',
  '{"operations":[{"action":"delete","filter":{"n":1}}]}'
]

/** Every operation of the REST interface. */
export const restDoors = (account: Account): ReadonlyArray<Door> =>
  Object.entries(operations).map(([name, { success }]) => {
    const [, [method, address, sample]] = success
    const path = address.split("?", 1)[0]!
    const authorization = name.startsWith("auth.") ? {} : { authorization: `Bearer ${account.apiKey}` }
    if (sample === undefined) {
      const parameters = ["filter", "sort", "limit", "id", "unknown"]
      return { name, method, path, headers: authorization, limit: queryBytes, worst: queryWorst(path, parameters) }
    }
    const samples = name === "rows.batch" ? batchSamples : [sample]
    return { name, method, path, headers: { ...json, ...authorization }, worst: jsonWorst(path, samples) }
  })

/** A tool as the service lists it. */
export interface ListedTool {
  readonly name: string
  readonly inputSchema: { readonly properties?: Readonly<Record<string, unknown>> }
}

const callOf = ({ inputSchema, name }: ListedTool) => {
  const args = Object.fromEntries(Object.keys(inputSchema.properties ?? {}).map((argument) => [argument, null]))
  return { name, arguments: args }
}

/** The methods and tools of /mcp, as clients of both eras call them. */
export const mcpDoors = (token: string, tools: ReadonlyArray<ListedTool>): ReadonlyArray<Door> => {
  const legacy = { ...json, accept: "application/json, text/event-stream", authorization: `Bearer ${token}` }
  const door = (name: string, headers: Door["headers"], sample: object): Door => ({
    name,
    headers,
    method: "POST",
    path: "/mcp",
    worst: jsonWorst("/mcp", [JSON.stringify(sample)])
  })
  const inBothEras = (name: string, method: string, params: object): ReadonlyArray<Door> => {
    const modern = { ...legacy, "mcp-protocol-version": protocolVersion, "mcp-method": method }
    return [
      door(name, legacy, rpc(method, params)),
      door(`${name} (modern)`, modern, rpc(method, { _meta: meta, ...params }))
    ]
  }
  return [
    ...["ping", "tools/list", "server/discover", "initialize"].flatMap((method) => inBothEras(method, method, {})),
    ...tools.flatMap((tool) => inBothEras(tool.name, "tools/call", callOf(tool)))
  ]
}

/** The pages of a link, where a row is edited. */
export const linkDoors = (viewer: string, query: string): ReadonlyArray<Door> => {
  const row = '{"updated_at":"2026-11-27T20:07:59.549Z","row":{"n":1}}'
  const patch = '{"updated_at":"2026-11-27T20:07:59.549Z","patch":{"n":1}}'
  return [
    { name: "save", method: "PATCH", path: viewer, headers: json, worst: jsonWorst(viewer, [row, patch]) },
    ...["/restore"].map((below): Door => {
      const path = viewer + below
      return { name: below, method: "POST", path, headers: json, worst: jsonWorst(path, ['{"version":1}']) }
    }),
    ...[viewer, `${viewer}/data`, `${viewer}/versions`, `${query}/data`].map((path): Door => ({
      name: path.replace(/[\w-]{30,}/, "…"),
      method: "GET",
      path,
      headers: {},
      limit: queryBytes,
      worst: queryWorst(path, ["limit", "unknown"])
    }))
  ]
}

/** What browsers and OAuth clients send before anybody is signed in, and after that with a session's cookie. */
export const publicDoors = (cookie: string): ReadonlyArray<Door> => {
  const forms: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
    ["/token", ["grant_type", "code", "scope", "resource"]],
    ["/revoke", ["token"]],
    ["/sign-in", ["token"]],
    ["/sign-in/email", ["email", "return"]],
    ["/sign-in/code", ["code"]],
    ["/sign-out", ["proof"]],
    ["/connections", ["proof", "id"]],
    ["/authorize", ["proof", "decision", "tables"]]
  ]
  const registration = '{"client_name":"c","redirect_uris":["http://127.0.0.1/callback"],"scope":"agent-memory"}'
  const authorize = ["client_id", "redirect_uri", "scope", "state", "resource", "code_challenge"]
  return [
    ...forms.map(([path, names]): Door => ({
      name: `POST ${path}`,
      method: "POST",
      path,
      headers: { ...form, cookie },
      limit: 16_384,
      worst: formWorst(path, names)
    })),
    {
      name: "POST /register",
      method: "POST",
      path: "/register",
      headers: json,
      limit: 16_384,
      worst: jsonWorst("/register", [registration])
    },
    ...["/authorize", "/sign-in", "/connections", "/docs", "/"].map((path): Door => ({
      name: `GET ${path}`,
      method: "GET",
      path,
      headers: { cookie },
      limit: queryBytes,
      worst: queryWorst(path, path === "/authorize" ? authorize : ["token", "q"])
    }))
  ]
}
