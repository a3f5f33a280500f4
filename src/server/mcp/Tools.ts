import { Schema } from "effect"
import type { Access } from "../../domain/Connection.ts"
import { longestRequest } from "../../domain/Limits.ts"
import type { Bounds } from "../../domain/json/ParseEnvelope.ts"
import { systemFieldBytes } from "../../domain/Write.ts"
import type { ServiceLimits } from "../Config.ts"
import type { Tool } from "./Tool.ts"
import { openRow, openTextField } from "./tools/Open.ts"
import { count, listTables, query, versions } from "./tools/Read.ts"
import {
  remember,
  rememberCode,
  rememberCommand,
  rememberConfig,
  rememberMarkdown,
  rememberResource
} from "./tools/Remember.ts"
import { restore } from "./tools/Restore.ts"
import { add, batch, remove, updateRow, updateWhere, upsert } from "./tools/Write.ts"

/** The tools in the order that clients list them; their texts tell the limits that this service has. */
const inOrder = (limits: ServiceLimits): ReadonlyArray<Tool> => [
  listTables,
  query(limits),
  count,
  add(limits),
  upsert(limits),
  updateRow,
  updateWhere,
  batch(limits),
  remove(limits),
  versions(limits),
  restore,
  remember,
  rememberResource,
  rememberCode,
  rememberMarkdown,
  rememberCommand,
  rememberConfig,
  openRow(limits),
  openTextField(limits)
]

/** Bounds that every whole number has say nothing, and some models don't take numbers that long. */
const withoutSafeBounds = (name: string, value: unknown) =>
  (name === "maximum" || name === "minimum") && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value

/** Plain JSON Schema: an object, everything in its place, nothing by reference. Some models take none without properties. */
const jsonSchema = (schema: Schema.Top): { readonly type: "object" } => {
  const { schema: plain } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  return JSON.parse(JSON.stringify({ type: "object", properties: {}, ...plain }, withoutSafeBounds))
}

const listed = (tool: Tool) => ({
  name: tool.name,
  title: tool.title,
  description: tool.description,
  inputSchema: jsonSchema(tool.input),
  outputSchema: jsonSchema(tool.output),
  annotations: { title: tool.title, ...tool.hints }
})

/** A tool as `tools/list` shows it. */
export type ListedTool = ReturnType<typeof listed>

/** The tools of one service. */
export interface Tools {
  /** The tools that a connection may call, as it is told of them; the others are neither listed nor called. */
  readonly listedFor: (access: Access) => ReadonlyArray<ListedTool>
  /** The tool of a name, whoever may call it. */
  readonly named: (name: string) => Tool | undefined
  readonly bounds: Bounds
  /** How many characters the arguments of a tool may have, whatever they hold. */
  readonly longestArguments: (tool: Tool) => number
}

/** What the arguments of calls are held to while they are parsed. */
export const argumentBounds = (limits: ServiceLimits): Bounds => ({
  limits: { ...limits },
  textLength: limits.rowBytes + systemFieldBytes
})

/** The tools of a service with these limits. */
export const makeTools = (limits: ServiceLimits): Tools => {
  const tools = inOrder(limits)
  const all = tools.map(listed)
  const reading = all.filter(({ annotations }) => annotations.readOnlyHint)
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return {
    listedFor: (access) => (access === "read" ? reading : all),
    named: (name) => byName.get(name),
    bounds: argumentBounds(limits),
    longestArguments: ({ rows }) => longestRequest(rows, limits.rowBytes)
  }
}
