interface Media {
  schema?: { readonly allOf?: ReadonlyArray<object>; readonly $ref?: string; readonly properties?: Properties }
}

type Properties = Record<string, Record<string, unknown>>

interface Operation {
  readonly parameters?: ReadonlyArray<{ readonly name: string; readonly in: string; schema: object }>
  readonly requestBody?: { required: boolean; readonly content: Record<string, Media> }
  readonly responses?: Record<string, { readonly content?: Record<string, Media> }>
}

interface Document {
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { schemas: Record<string, unknown> }
}

const limitSchema = { type: "integer", minimum: 1, maximum: 1000, default: 100 }

/** What the framework cannot know: bodies are JSON although it passes them on as text, and `limit` is a number. */
export const completeDocument = (generated: Record<string, unknown>): Record<string, unknown> => {
  const document = renameEncoded(generated) as unknown as Document
  for (const operation of Object.values(document.paths).flatMap((path) => Object.values(path))) {
    const answers = Object.values(operation.responses ?? {})
    for (const content of [operation.requestBody?.content, ...answers.map((answer) => answer.content)]) {
      for (const media of Object.values(content ?? {})) {
        const { $ref, allOf } = media.schema ?? {}
        if ($ref !== undefined) media.schema = { $ref }
        else if (allOf?.[0] !== undefined) media.schema = allOf[0]
      }
    }
    for (const parameter of operation.parameters ?? []) {
      if (parameter.in === "query" && parameter.name === "limit") {
        parameter.schema = { ...parameter.schema, ...limitSchema }
      }
    }
  }
  for (const { delete: operation } of Object.values(document.paths)) {
    // The filter of a delete may stand in the query string instead.
    if (operation?.requestBody !== undefined) operation.requestBody.required = false
  }
  return document as unknown as Record<string, unknown>
}

/** What only the running service knows: its address, and how many operations a batch may have. */
export const describeService = (
  document: object,
  { baseUrl, batchOperations }: { readonly baseUrl: string; readonly batchOperations: number }
): object => {
  const described = structuredClone(document) as Document
  const batch = described.paths["/v1/{table}/batch"]?.["post"]?.requestBody?.content["application/json"]?.schema
  Object.assign(batch?.properties?.["operations"] ?? {}, { minItems: 1, maxItems: batchOperations })
  return { ...described, servers: [{ url: baseUrl }] }
}

const encoded = /Encoded$/

/** A reader of the document meets only what is on the wire, so its names need no suffix that says so. */
const renameEncoded = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(renameEncoded)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name.replace(encoded, ""),
      name === "$ref" && typeof member === "string" ? member.replace(encoded, "") : renameEncoded(member)
    ])
  )
}
