import type { Access } from "../../domain/Actor.ts"
import { type Limits, longestRequest } from "../../domain/Limits.ts"
import type { Bounds } from "../../domain/json/ParseEnvelope.ts"
import { systemFieldBytes } from "../../domain/RowInput.ts"
import { type ListedTool, shortTool, wholeTool, type Tool } from "./Tool.ts"
import { sayingOnce } from "./ToolGuide.ts"
import {
  add,
  search,
  remember,
  rememberCode,
  rememberCommand,
  rememberConfig,
  rememberMarkdown,
  rememberResource
} from "./tools/RememberTools.ts"
import { restore, versions } from "./tools/HistoryTools.ts"
import { listTables, count, openRow, openTextField, query } from "./tools/ReadTools.ts"
import { batch, remove, updateRow, updateWhere, upsert } from "./tools/WriteTools.ts"

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

/** The tools of one service. */
export interface Tools {
  /**
   * The tools that a connection may call, as it is told of them; the others are neither listed nor called. The core is all
   * but aliases, which may be called nevertheless.
   */
  readonly listedFor: (access: Access, isCore?: boolean) => ReadonlyArray<ListedTool>
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
  const brief = (isListed: (tool: Tool) => boolean) =>
    sayingOnce(tools.filter(isListed).map((tool) => shortTool(tool, limits)))
  const lists = {
    full: brief(() => true),
    core: brief(({ alias }) => alias === undefined),
    read: brief(({ hints }) => hints.readOnlyHint)
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return {
    described: tools.map((tool) => wholeTool(tool, limits)),
    listedFor: (access, isCore = false) => lists[access === "read" ? "read" : isCore ? "core" : "full"],
    named: (name) => byName.get(name),
    bounds: argumentBounds(limits),
    longestArguments: ({ rows }) => longestRequest(rows(limits), limits.rowBytes)
  }
}
