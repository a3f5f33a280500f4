import type { ListedTool } from "./Tools.ts"

/** A JSON Schema as far as its descriptions are of concern. */
interface Described {
  readonly type?: string
  readonly description?: string
  readonly properties?: Readonly<Record<string, Described>>
  readonly items?: Described
  readonly maxItems?: number
}

/** In characters: shorter descriptions cost no more than the words that would replace them. */
const shortLength = 30

/** The words that stand for a description that an earlier tool has; bounds are said again, since some clients drop them. */
const reference = (tool: string, { maxItems }: Described): string =>
  `As in ${tool}${maxItems === undefined ? "" : `; at most ${maxItems}`}.`

/** Which tool of the list said a description first. */
type Said = Map<string, string>

const withReferences = <Schema extends Described>(tool: string, schema: Schema, said: Said): Schema => {
  const { description = "", items, properties } = schema
  const first = said.get(description)
  if (first === undefined && description.length > shortLength) said.set(description, tool)
  return {
    ...schema,
    ...(first !== undefined && first !== tool && { description: reference(first, schema) }),
    ...(items !== undefined && { items: withReferences(tool, items, said) }),
    ...(properties !== undefined && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, member]) => [name, withReferences(tool, member, said)])
      )
    })
  }
}

/**
 * The tools with each description of an argument or a result said once, by the first tool that has it: models read the whole
 * list in every conversation.
 */
export const sayingOnce = (tools: ReadonlyArray<ListedTool>): ReadonlyArray<ListedTool> => {
  const said: Said = new Map()
  return tools.map((tool) => ({
    ...tool,
    inputSchema: withReferences(tool.name, tool.inputSchema, said),
    outputSchema: withReferences(tool.name, tool.outputSchema, said)
  }))
}
