import { specTypeSchemas, type StandardSchemaV1Sync } from "@modelcontextprotocol/server"
import { pointerTo } from "../../domain/json/JsonIssue.ts"

const schemas: Readonly<Record<string, StandardSchemaV1Sync>> = {
  initialize: specTypeSchemas.InitializeRequest,
  ping: specTypeSchemas.PingRequest,
  "server/discover": specTypeSchemas.DiscoverRequest,
  "tools/call": specTypeSchemas.CallToolRequest,
  "tools/list": specTypeSchemas.ListToolsRequest
}

/** A step of a Standard Schema issue's path. */
const keyOf = (step: PropertyKey | { readonly key: PropertyKey }): PropertyKey =>
  typeof step === "object" ? step.key : step

const valueAt = (value: unknown, path: ReadonlyArray<PropertyKey>): unknown =>
  path.reduce<unknown>((part, key) => (part as Record<PropertyKey, unknown> | null | undefined)?.[key], value)

/**
 * Why the params of a request are not its method's, in one sentence with the first place at fault; undefined where they
 * are. A cursor is none that this service gave: its lists have one page.
 */
export const paramsFault = (request: { readonly method: string; readonly params?: unknown }): string | undefined => {
  const { method, params } = request
  const issue = schemas[method]?.["~standard"].validate(request).issues?.[0]
  if (issue !== undefined) {
    const path = (issue.path ?? []).map(keyOf)
    const fault = valueAt(request, path) === undefined ? "is required" : "is not valid"
    return `${pointerTo(path.map(String))} ${fault} in ${method}.`
  }
  if (method !== "tools/list" || valueAt(params, ["cursor"]) === undefined) return undefined
  return "/params/cursor is unknown: the list of tools has one page, so leave it out."
}
