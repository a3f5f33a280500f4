import type { Tools } from "./Tools.ts"

const methods = new Set([
  "initialize",
  "ping",
  "server/discover",
  "subscriptions/listen",
  "tools/list",
  "notifications/initialized",
  "notifications/cancelled"
])

const memberOf = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined

const nameOf = (message: unknown, tools: Tools): string | undefined => {
  const method = memberOf(message, "method")
  if (typeof method !== "string") return undefined
  if (method !== "tools/call") return methods.has(method) ? method : undefined
  const tool = memberOf(memberOf(message, "params"), "name")
  return typeof tool === "string" ? tools.named(tool)?.name : undefined
}

/**
 * What a body of `/mcp` asks for, for logs and metrics: `mcp.query`, `mcp.tools/list`. It is one of few words, whatever the
 * client sends.
 */
export const operationOf = (body: unknown, tools: Tools): string => {
  const operations = new Set(
    (Array.isArray(body) ? body : [body]).map((message) => `mcp.${nameOf(message, tools) ?? "unknown"}`)
  )
  const [operation = "mcp.unknown", ...others] = operations
  return others.length === 0 ? operation : "mcp.several"
}
