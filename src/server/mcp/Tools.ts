import type { Access } from "../../domain/Actor.ts"
import { type Limits, longestRequest } from "../../domain/Limits.ts"
import type { Bounds } from "../../domain/json/ParseEnvelope.ts"
import { systemFieldBytes } from "../../domain/RowInput.ts"
import { shortTool, wholeTool, type Tool } from "./Tool.ts"
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

/** What the arguments of calls are held to while they are parsed. */
export const argumentBounds = (limits: Limits): Bounds => ({
  limits: { ...limits },
  textLength: limits.rowBytes + systemFieldBytes
})

/** The tools of a service with these limits. */
export const makeTools = (limits: Limits) => {
  const brief = (isListed: (tool: Tool) => boolean) =>
    sayingOnce(tools.filter(isListed).map((tool) => shortTool(tool, limits)))
  const lists = {
    full: brief(() => true),
    core: brief(({ alias }) => alias === undefined),
    read: brief(({ hints }) => hints.readOnlyHint)
  }
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  return {
    /** All tools, each with all its descriptions, for pages that show them one by one. */
    described: tools.map((tool) => wholeTool(tool, limits)),
    /** The tools that a connection is told of. The core is all but aliases, which may be called nevertheless. */
    listedFor: (access: Access, isCore = false) => lists[access === "read" ? "read" : isCore ? "core" : "full"],
    /** The tool of a name, whoever may call it. */
    named: (name: string) => byName.get(name),
    bounds: argumentBounds(limits),
    /** How many characters the arguments of a tool may have, whatever they hold. */
    longestArguments: ({ rows }: Tool) => longestRequest(rows(limits), limits.rowBytes)
  }
}

export type Tools = ReturnType<typeof makeTools>
