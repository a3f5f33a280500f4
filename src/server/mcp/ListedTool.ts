import { Schema } from "effect"
import { fillLimits, type Limits } from "../../domain/Limits.ts"
import type { Tool } from "./Tool.ts"

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
