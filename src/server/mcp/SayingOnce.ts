import type { ListedTool } from "./ListedTool.ts"

/** A JSON Schema as the tools' are: plain, everything in its place. */
interface PlainSchema {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, PlainSchema>>
  readonly items?: PlainSchema
  readonly additionalProperties?: boolean
}

/** In characters: shorter descriptions cost no more than the words that would replace them. */
const shortLength = 24

/**
 * Bounds are said in words too, as some clients drop them, and examples are in descriptions. That an object takes no other
 * members (`additionalProperties: false`) goes without saying: a call that has some is refused, and told which there are.
 */
const saidInWords: ReadonlySet<string> = new Set([
  "examples",
  "maximum",
  "maxItems",
  "minimum",
  "minItems",
  "minLength"
])

const anyObject: PlainSchema = { type: "object", additionalProperties: true }

const mapValues = (values: Readonly<Record<string, PlainSchema>>, map: (value: PlainSchema) => PlainSchema) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))

/** Which tool of the list said a description first. */
type Said = Map<string, string>

/** A schema in few words: where an earlier tool has the same, it is referred to, with all its parts. */
const brief = <S extends PlainSchema>(tool: string, schema: S, said: Said): S => {
  const { description = "", items, properties } = schema
  const first = said.get(description)
  if (first === undefined && description.length > shortLength) said.set(description, tool)
  const isSaid = first !== undefined && first !== tool
  const inner = isSaid && items?.properties !== undefined ? anyObject : items
  const others = Object.entries(schema).filter(([name, value]) => !saidInWords.has(name) && value !== false)
  return {
    ...(Object.fromEntries(others) as S),
    ...(isSaid && { description: `As in ${first}.` }),
    ...(inner !== undefined && { items: brief(tool, inner, said) }),
    ...(properties !== undefined && { properties: mapValues(properties, (member) => brief(tool, member, said)) })
  }
}

/** A member of a result, without what it consists of. */
const outline = ({ description, items, type }: PlainSchema): PlainSchema => ({
  type: type!,
  description: description!,
  ...(items !== undefined && { items: { type: items.type! } })
})

/**
 * The members of a result in outline: few models are told of them. There may be more of them than a list says, since clients
 * keep lists for a while, and check results by them.
 */
const outlined = <S extends PlainSchema>(schema: S): S => ({
  ...schema,
  properties: mapValues(schema.properties ?? {}, outline)
})

/**
 * The tools with each description of an argument or a result said once, by the first tool that has it: models read the whole
 * list in every conversation.
 */
export const sayingOnce = (tools: ReadonlyArray<ListedTool>): ReadonlyArray<ListedTool> => {
  const said: Said = new Map()
  return tools.map((tool) => ({
    ...tool,
    inputSchema: brief(tool.name, tool.inputSchema, said),
    outputSchema: brief(tool.name, outlined(tool.outputSchema), said)
  }))
}
