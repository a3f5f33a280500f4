import { escapeHtml } from "../Html.ts"
import { inlineCode } from "./DocsPage.ts"
import { type JsonSchema, nameOf, resolve } from "./OpenApi.ts"

/** A schema's type in a few words: `string`, `array of Row`, `"add" or "upsert"`. */
const typeOf = (schema: JsonSchema): string => {
  if (schema.$ref !== undefined) return nameOf(schema.$ref)
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(" or ")
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(" or ")
  if (schema.type === "array") return `array of ${schema.items === undefined ? "values" : typeOf(schema.items)}`
  return schema.format ?? schema.type ?? "any value"
}

const bounds = (schema: JsonSchema): string => {
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

/** The members of an object; objects in a member follow it, as do those of an array's items. */
export const fieldsOf = (schema: JsonSchema, place: "body" | "answer", prefix = ""): ReadonlyArray<Field> => {
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

const presence = ({ place, required }: Field): string =>
  place === "answer"
    ? required
      ? ""
      : ", may be missing"
    : `${place === "body" ? "" : `, ${place}`}, ${required ? "required" : "optional"}`

/** Parameters or members as a table. */
export const fieldTable = (caption: string, fields: ReadonlyArray<Field>): string =>
  fields.length === 0
    ? ""
    : `<table class="fields"><caption>${caption}</caption>
<thead><tr><th scope="col">Name and type</th><th scope="col">Meaning</th></tr></thead>
<tbody>${fields
        .map((field) => {
          const { name, schema } = field
          const meaning = [resolve(schema).description ?? "", bounds(schema)].filter((text) => text !== "").join(" ")
          return `<tr><th scope="row"><code>${escapeHtml(name)}</code><br><span class="muted">${escapeHtml(typeOf(schema) + presence(field))}</span></th><td>${inlineCode(meaning)}</td></tr>`
        })
        .join("")}</tbody></table>`
