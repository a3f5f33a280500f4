import { type Effect, Schema, type Scope } from "effect"
import type { Actor } from "../../domain/Actor.ts"
import { shapeOf } from "../../domain/ExactJson.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { type Limits, fillLimits } from "../../domain/Limits.ts"
import type { JsonText } from "../../domain/json/JsonText.ts"
import type { EnvelopeShape } from "../../domain/json/ParseEnvelope.ts"
import type { Problem } from "../doors/RenderProblem.ts"
import type { Changes } from "../versions/Changes.ts"
import type { Settings } from "../config/Settings.ts"
import type { Links } from "../links/Links.ts"
import type { Writes, WriteTarget } from "../tables/Writes.ts"
import type { Rows } from "../tables/Rows.ts"
import type { Search } from "../tables/Search.ts"
import type { Tables } from "../tables/Tables.ts"
import type { Versions } from "../versions/Versions.ts"

/** The services that tools work with: the same that REST has. */
export type ToolServices = Changes | Links | Rows | Search | Settings | Writes | Tables | Versions

/** What clients are told of a tool before they call it. */
const hints = (readOnlyHint: boolean, destructiveHint: boolean, idempotentHint: boolean) => ({
  readOnlyHint,
  destructiveHint,
  idempotentHint,
  openWorldHint: false
})

/** Changes nothing. */
export const reads = hints(true, false, true)
/** Only adds: a repeated call adds once more. */
export const adds = hints(false, false, false)
/** Changes or removes what is stored, the same however often it is called. */
export const changes = hints(false, true, true)
/** Changes what is stored, and anew with each call. */
export const changesAnew = hints(false, true, false)

/** A tool of `/mcp`, declared once: what clients see of it, and what it does. */
export interface Tool<Input extends Schema.Top = Schema.Top> {
  readonly name: string
  readonly title: string
  /** What it is for and when to use it, in at most 1,024 characters, with placeholders like `{limits.rowBytes}`. */
  readonly description: string
  readonly hints: ReturnType<typeof hints>
  readonly input: Input
  readonly output: Schema.Top
  /** Of a tool that does what another one does: the part of its arguments and result that lists tell. */
  readonly alias?: { readonly input: Schema.Top; readonly output: Schema.Top }
  /** Which of its arguments hold exact JSON, and how many parts they may have. */
  readonly shape: EnvelopeShape
  /** How many rows or patches its arguments can have. */
  readonly rows: (limits: Limits) => number
  /** Whether a call only reads: what it spends of the connection's limits. */
  readonly isRead: (args: Input["Type"]) => boolean
  readonly run: (
    args: Input["Type"],
    actor: Actor
  ) => Effect.Effect<JsonText, Problem | Unavailable, ToolServices | Scope.Scope>
}

/** Declares a tool; whatever is not only reading by its hints writes, and its arguments hold one row, unless it says otherwise. */
export const tool = <Input extends Schema.Top>(
  declared: Omit<Tool<Input>, "isRead" | "rows" | "shape"> & Partial<Pick<Tool<Input>, "isRead" | "rows">>
): Tool =>
  ({
    isRead: () => declared.hints.readOnlyHint,
    rows: () => 1,
    shape: shapeOf(declared.input.ast),
    ...declared
  }) as Tool

/** To which table a call writes, and how, by its arguments. */
export const targetOf = (args: {
  readonly table: string
  readonly idempotencyKey?: string
  readonly dryRun?: boolean
}): WriteTarget => ({ table: args.table, idempotencyKey: args.idempotencyKey, isDryRun: args.dryRun === true })

/** Clients that load tools only once a model searches for them have these at hand from the start: no memory is found without. */
const alwaysLoaded: ReadonlySet<string> = new Set(["list_tables", "query", "search", "add", "remember"])

/** Bounds that every whole number has say nothing, and some models don't take numbers that long. */
const withoutSafeBounds = (name: string, value: unknown) =>
  (name === "maximum" || name === "minimum") && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER ? undefined : value

/** A type that takes null too, as the type alone: some models take no unions. Its description says what null means. */
const withoutNull = (value: unknown) => {
  const { anyOf, ...others } = (value ?? {}) as { readonly anyOf?: ReadonlyArray<{ readonly type?: string }> }
  if (anyOf?.some(({ type }) => type === "null") !== true) return value
  return { ...anyOf.find(({ type }) => type !== "null"), ...others }
}

type ObjectSchema = { readonly type: "object" }

/** Each is in several lists, and takes a while to make. */
const known = new WeakMap<Schema.Top, ObjectSchema>()

const jsonSchema = (schema: Schema.Top): ObjectSchema => {
  const made = known.get(schema) ?? plainSchema(schema)
  known.set(schema, made)
  return made
}

/** Plain JSON Schema: an object, everything in its place, nothing by reference. Some models take none without properties. */
const plainSchema = (schema: Schema.Top): ObjectSchema => {
  const { schema: plain } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  const simplified = (name: string, value: unknown) => withoutNull(withoutSafeBounds(name, value))
  return JSON.parse(JSON.stringify({ type: "object", properties: {}, ...plain }, simplified))
}

const listed = (tool: Tool, input: ObjectSchema, output: Schema.Top, limits: Limits) => {
  const declared = {
    name: tool.name,
    title: tool.title,
    description: tool.description,
    inputSchema: input,
    outputSchema: jsonSchema(output),
    annotations: { title: tool.title, ...tool.hints },
    ...(alwaysLoaded.has(tool.name) && { _meta: { "anthropic/alwaysLoad": true } })
  }
  return JSON.parse(fillLimits(JSON.stringify(declared), limits)) as typeof declared
}

/** A tool as `tools/list` shows it. */
export type ListedTool = ReturnType<typeof listed>

/** A tool with all that it takes and gives. */
export const wholeTool = (tool: Tool, limits: Limits): ListedTool =>
  listed(tool, jsonSchema(tool.input), tool.output, limits)

/** A tool as lists tell of it: of an alias only a part, which leaves room for the rest of its arguments. */
export const shortTool = (tool: Tool, limits: Limits): ListedTool => {
  const { alias } = tool
  if (alias === undefined) return wholeTool(tool, limits)
  const input = { ...jsonSchema(alias.input), additionalProperties: true }
  return listed(tool, input, alias.output, limits)
}
