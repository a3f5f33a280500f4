import { Schema } from "effect"
import type { Access } from "../../domain/Actor.ts"
import { fillLimits, type Limits, longestRequest } from "../../domain/Limits.ts"
import type { Bounds } from "../../domain/json/ParseEnvelope.ts"
import { systemFieldBytes } from "../../domain/RowInput.ts"
import { sayingOnce } from "./SayingOnce.ts"
import type { Tool } from "./Tool.ts"
import { restore, versions } from "./tools/HistoryTools.ts"
import { search } from "./tools/SearchTool.ts"
import { count, listTables, openRow, openTextField, query } from "./tools/ReadTools.ts"
import {
  remember,
  rememberCode,
  rememberCommand,
  rememberConfig,
  rememberMarkdown,
  rememberResource
} from "./tools/RememberTools.ts"
import { add, batch, remove, updateRow, updateWhere, upsert } from "./tools/WriteTools.ts"

/** The tools in the order in which clients list them. */
const tools: ReadonlyArray<Tool> = [
  listTables,
  query,
  search,
  count,
  add,
  upsert,
  updateRow,
  updateWhere,
  batch,
  remove,
  versions,
  restore,
  remember,
  rememberResource,
  rememberCode,
  rememberMarkdown,
  rememberCommand,
  rememberConfig,
  openRow,
  openTextField
]

/** Bounds that every whole number has say nothing, and some models don't take numbers that long. */
const withoutSafeBounds = (name: string, value: unknown) =>
  (name === "maximum" || name === "minimum") && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value

/** A type that takes null too, as the type alone: some models take no unions. Its description says what null means. */
const withoutNull = (value: unknown) => {
  const { anyOf, ...others } = (value ?? {}) as { readonly anyOf?: ReadonlyArray<{ readonly type?: string }> }
  if (anyOf?.some(({ type }) => type === "null") !== true) return value
  return { ...anyOf.find(({ type }) => type !== "null"), ...others }
}

/** Plain JSON Schema: an object, everything in its place, nothing by reference. Some models take none without properties. */
const jsonSchema = (schema: Schema.Top): { readonly type: "object" } => {
  const { schema: plain } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const simplified = (name: string, value: unknown) => withoutNull(withoutSafeBounds(name, value))
  return JSON.parse(JSON.stringify({ type: "object", properties: {}, ...plain }, simplified))
}

/** Clients that load tools only once a model searches for them have these at hand from the start: no memory is found without. */
const alwaysLoaded: ReadonlySet<string> = new Set(["list_tables", "query", "search", "add", "remember"])

const listed = (tool: Tool, limits: Limits) => {
  const declared = {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: jsonSchema(tool.input),
    outputSchema: jsonSchema(tool.output),
    annotations: { title: tool.title, ...tool.hints },
    ...(alwaysLoaded.has(tool.name) && { _meta: { "anthropic/alwaysLoad": true } })
  }
  return JSON.parse(fillLimits(JSON.stringify(declared), limits)) as typeof declared
}

/** A tool as `tools/list` shows it. */
export type ListedTool = ReturnType<typeof listed>

/** The tools of one service. */
export interface Tools {
  /** The tools that a connection may call, as it is told of them; the others are neither listed nor called. */
  readonly listedFor: (access: Access) => ReadonlyArray<ListedTool>
  /** All tools, each with all its descriptions, for pages that show them one by one. */
  readonly described: ReadonlyArray<ListedTool>
  /** The tool of a name, whoever may call it. */
  readonly named: (name: string) => Tool | undefined
  readonly bounds: Bounds
  /** How many characters the arguments of a tool may have, whatever they hold. */
  readonly longestArguments: (tool: Tool) => number
}

/** What the arguments of calls are held to while they are parsed. */
export const argumentBounds = (limits: Limits): Bounds => ({
  limits: { ...limits },
  textLength: limits.rowBytes + systemFieldBytes
})

/** The tools of a service with these limits. */
export const makeTools = (limits: Limits): Tools => {
  const whole = tools.map((tool) => listed(tool, limits))
  const all = sayingOnce(whole)
  const reading = sayingOnce(whole.filter(({ annotations }) => annotations.readOnlyHint))
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return {
    described: whole,
    listedFor: (access) => (access === "read" ? reading : all),
    named: (name) => byName.get(name),
    bounds: argumentBounds(limits),
    longestArguments: ({ rows }) => longestRequest(rows(limits), limits.rowBytes)
  }
}
