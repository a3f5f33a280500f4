import { Context, Option } from "effect"
import { OpenApi } from "effect/http-api"
import { Api } from "../../../api/Api.ts"

/** The parts of a JSON Schema that the reference shows. */
export interface JsonSchema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly description?: string
  readonly enum?: ReadonlyArray<unknown>
  readonly examples?: ReadonlyArray<unknown>
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: ReadonlyArray<string>
  readonly items?: JsonSchema
  readonly additionalProperties?: boolean | JsonSchema
  readonly anyOf?: ReadonlyArray<JsonSchema>
  readonly allOf?: ReadonlyArray<{ readonly minLength?: number; readonly maxLength?: number }>
}

interface Content {
  readonly content?: Readonly<Record<string, { readonly schema?: JsonSchema }>>
}

interface Parameter {
  readonly name: string
  readonly in: "path" | "query" | "header"
  readonly required: boolean
  readonly schema: JsonSchema
}

/** One operation of the REST interface, as its contract declares it. */
export interface Operation {
  readonly operationId: string
  readonly method: string
  readonly path: string
  readonly summary: string
  readonly description?: string
  readonly tags: ReadonlyArray<string>
  readonly parameters: ReadonlyArray<Parameter>
  readonly security: ReadonlyArray<unknown>
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content & { readonly description: string }>>
}

interface Document {
  readonly tags: ReadonlyArray<{ readonly name: string; readonly description?: string }>
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, "method" | "path">>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

let made: Document | undefined

/** Made at the first use, so that a start doesn't wait for it. */
const document = (): Document => (made ??= OpenApi.fromApi(Api) as unknown as Document)

const operationsOf = ({ paths }: Document): ReadonlyArray<Operation> =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path }))
  )

/** A name as it stands in an address. */
export const anchorOf = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]+/g, "-")

export interface Group {
  /** In the page's address: `/docs/rows`. */
  readonly id: string
  readonly name: string
  readonly description: string
  readonly operations: ReadonlyArray<Operation>
}

/** The ids of the groups. */
export const groupIds: ReadonlyArray<string> = Object.values(Api.groups).map(({ annotations, identifier }) =>
  anchorOf(Option.getOrElse(Context.getOption(annotations, OpenApi.Title), () => identifier))
)

/** The groups of the interface, in the order in which a newcomer meets them. */
export const groups = (): ReadonlyArray<Group> => {
  const operations = operationsOf(document())
  return document().tags.map(({ description = "", name }) => ({
    id: anchorOf(name),
    name,
    description,
    operations: operations.filter(({ tags }) => tags.includes(name))
  }))
}

/** The schema that a reference names, or the schema itself. */
export const resolve = (schema: JsonSchema): JsonSchema =>
  schema.$ref === undefined ? schema : (document().components.schemas[nameOf(schema.$ref)] ?? schema)

const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1)

/** The schema of a request's or response's JSON. */
export const schemaOf = (part: Content | undefined): JsonSchema | undefined =>
  Object.values(part?.content ?? {})[0]?.schema

interface Failure {
  readonly code: string
  readonly status: number
  readonly title: string
  readonly members: Readonly<Record<string, JsonSchema>>
}

const failureOf = (schema: JsonSchema): ReadonlyArray<Failure> => {
  const { properties = {} } = resolve(schema)
  const code = properties["code"]?.enum?.[0]
  if (typeof code !== "string") return []
  const status = Number(properties["status"]?.enum?.[0])
  return [{ code, status, title: String(properties["title"]?.enum?.[0]), members: properties }]
}

/** Every failure that an operation declares, by status. */
export const failuresOf = (operation: Operation): ReadonlyArray<Failure> =>
  Object.values(operation.responses).flatMap((response) => {
    const schema = schemaOf(response)
    return schema === undefined ? [] : (schema.anyOf ?? [schema]).flatMap(failureOf)
  })

/** A schema's type in a few words: `string`, `array of Row`, `"add" or "upsert"`. */
export const typeOf = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" or ")
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(" or ")
  if (schema.type === "array") return `array of ${schema.items === undefined ? "values" : typeOf(schema.items)}`
  return schema.format ?? schema.type ?? "any value"
}

/** The range, length and default of a value, in words. */
export const boundsOf = (schema: JsonSchema): string => {
  const { maximum, minimum } = schema
  const lengths = schema.allOf ?? []
  const shortest = lengths.find(({ minLength }) => minLength !== undefined)?.minLength
  const longest = lengths.find(({ maxLength }) => maxLength !== undefined)?.maxLength
  return [
    ...(minimum === undefined
      ? []
      : [maximum === undefined || maximum > 1e15 ? `at least ${minimum}` : `${minimum} to ${maximum}`]),
    ...(shortest === undefined || longest === undefined ? [] : [`${shortest} to ${longest} characters`]),
    ...(schema.default === undefined ? [] : [`default ${JSON.stringify(schema.default)}`])
  ].join(", ")
}

export interface Field {
  readonly name: string
  readonly place: string
  readonly required: boolean
  readonly schema: JsonSchema
}

/** The members of an object, each followed by the members of its value or of its items. */
export const fieldsOf = (schema: JsonSchema, place: "body" | "response", prefix = ""): ReadonlyArray<Field> => {
  const { anyOf, properties, required = [] } = resolve(schema)
  if (anyOf !== undefined) {
    const all = anyOf.flatMap((one) => fieldsOf(one, place, prefix))
    return all.filter(({ name }, index) => all.findIndex((other) => other.name === name) === index)
  }
  return Object.entries(properties ?? {}).flatMap(([name, member]) => [
    { name: prefix + name, place, required: required.includes(name), schema: member },
    ...(member.$ref === undefined && member.properties !== undefined
      ? fieldsOf(member, place, `${prefix}${name}.`)
      : []),
    ...(member.items !== undefined ? fieldsOf(member.items, place, `${prefix}${name}[].`) : [])
  ])
}
