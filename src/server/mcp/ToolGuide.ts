import type { ListedTool } from "./Tool.ts"

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

const mapValues = (values: Readonly<Record<string, PlainSchema>>, map: (value: PlainSchema) => PlainSchema) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value)]))

/** A schema in few words: `said` has which tool said a description first, which is referred to, with all its parts. */
const brief = <S extends PlainSchema>(tool: string, schema: S, said: Map<string, string>): S => {
  const { description = "", items, properties } = schema
  const first = said.get(description)
  if (first === undefined && description.length > shortLength) said.set(description, tool)
  const isSaid = first !== undefined && first !== tool
  const inner = isSaid && items?.properties ? { type: "object", additionalProperties: true } : items
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

/** The tools with each description said once, by the first: models read the whole list in every conversation. */
export const sayingOnce = (tools: ReadonlyArray<ListedTool>): ReadonlyArray<ListedTool> => {
  const said = new Map<string, string>()
  return tools.map((tool) => ({
    ...tool,
    inputSchema: brief(tool.name, tool.inputSchema, said),
    outputSchema: brief(tool.name, outlined(tool.outputSchema), said)
  }))
}

/** What agents do first, for people and for agents. */
export const firstStep =
  "Call `list_tables` first: it shows what is remembered, and how. Then use the table and the fields that exist, rather than new ones."

/** Which tool for which wish that a person has of their agent. Code stands in backticks. */
export const wishes = [
  {
    wish: "Remember a preference, a fact, a link, code or another text",
    tool: '`remember`; with key `["title"]` it replaces'
  },
  { wish: "Read what is remembered", tool: "`query`, with `fields` for what is needed" },
  { wish: "Find something by a word, whatever its table", tool: "`search`" },
  { wish: "Totals and how many", tool: "`count`, with `sum` and `by`" },
  { wish: "Record events, or import a list", tool: "`add` with `row`, or with up to 100 `rows`" },
  { wish: "Save or replace what has a name of its own", tool: "`upsert` with its `key`" },
  {
    wish: "Tick off, count up, append, change a line of a long text",
    tool: "`update_row` by id or `update_where` by values: `patch` sets fields, `edits` change them in place"
  },
  { wish: "Several different changes, all or none", tool: "`batch`" },
  { wish: "Delete", tool: "`delete` with `dryRun` first" },
  { wish: "Forget for good", tool: "`delete` with `forever`, and `dryRun` first" },
  { wish: "Who changed what, and what was deleted", tool: "`versions`" },
  { wish: "Take something back", tool: "`restore` with the `change` that the write answered" },
  { wish: "Show or let a person edit", tool: "`open_row`, `open_text_field`, or `query` with `includeLink`" }
]

/** One worked example of each tool whose arguments are more than names and values, with what the person said. */
export const toolExamples = [
  {
    tool: "query",
    said: "What did I spend most on in March?",
    args: {
      table: "expenses",
      sort: "-amount",
      limit: 3,
      fields: ["item", "amount"],
      filter: { date: { gte: "2026-03-01", lt: "2026-04-01" } }
    },
    answer:
      '{"rows":[{"id":"01a2…","item":"Train to Vienna","amount":89.90},…],"has_more":true,"matched":41,"next_cursor":"…"}'
  },
  {
    tool: "upsert",
    said: "Ada's birthday is on 10 December.",
    args: { table: "people", key: ["name"], row: { name: "Ada", birthday: "12-10" } },
    answer: '{"created":true,"id":"01a2…","created_at":"…","updated_at":"…","change":17}'
  },
  {
    tool: "batch",
    said: "The flight is booked. Put the hotel on the list, and drop the visa.",
    args: {
      table: "tasks",
      operations: [
        { action: "update_where", filter: { title: "Book the flight" }, patch: { done: true } },
        { action: "add", row: { title: "Book the hotel", done: false } },
        { action: "delete", filter: { title: "Apply for a visa" } }
      ]
    },
    answer:
      '{"results":[{"index":0,"action":"update_where","result":{"updated":1,"ids":["01a2…"]}},{"index":1,"action":"add","result":{"id":"01a2…"}},{"index":2,"action":"delete","result":{"deleted":1}}],"change":18}'
  }
]
