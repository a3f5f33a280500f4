import { SchemaAST } from "effect"
import { shapeOf, takesNull } from "../../domain/ExactJson.ts"
import { isWordForNone } from "../../domain/RowInput.ts"
import { JsonText, setMember } from "../../domain/json/JsonText.ts"

/** Arguments in which the word null may be meant, as they hold other people's words. */
const freeTexts: ReadonlySet<string> = new Set(["new", "old", "search", "text"])

const isNull = (value: unknown): boolean => value === null || (JsonText.is(value) && value.text === "null")

const isWordNull = (value: unknown): boolean =>
  JsonText.is(value) ? value.text === '"null"' : typeof value === "string" && value.trim() === "null"

/** Whether an argument that may be left out is what clients send for nothing: null, its word, or an array of them. */
const isNothing = (name: string, value: unknown, type: SchemaAST.AST): boolean => {
  if (name === "idempotencyKey" && typeof value === "string") return isWordForNone(value.replaceAll('"', ""))
  if (isNull(value)) return !takesNull(type)
  if (freeTexts.has(name) || takesNull(type)) return false
  return isWordNull(value) || (Array.isArray(value) && value.length === 1 && (isNull(value[0]) || isWordNull(value[0])))
}

const numeral = /^\s*-?\d+(?:\.\d+)?\s*$/

/** A number in quotes. */
const quoted = /^"(-?(?:0|[1-9]\d*)(?:\.\d+)?)"$/

const booleans: Readonly<Record<string, boolean>> = { true: true, false: false }

/** A number, boolean or null that came as a string. Whatever else came stays, to be refused. */
const scalarMeant = (value: string, ast: SchemaAST.AST): unknown => {
  if (SchemaAST.isNumber(ast)) return numeral.test(value) ? Number(value) : value
  if (SchemaAST.isBoolean(ast)) return booleans[value.trim().toLowerCase()] ?? value
  return takesNull(ast) && SchemaAST.isUnion(ast) && isWordNull(value) ? null : value
}

/** An exact number that came as a string, without its quotes. */
const exactMeant = (value: JsonText, ast: SchemaAST.AST): JsonText => {
  const digits = quoted.exec(value.text)?.[1]
  if (digits === undefined) return value
  const shape = shapeOf(ast)
  return shape.kind === "text" && shape.takes === "number" ? JsonText.trusted(digits) : value
}

/**
 * Arguments as they are meant: some clients send numbers, booleans and null as strings, and some models fill in every
 * argument, those that they mean to leave out with null. Rows, patches and filters stay as they are.
 */
export const asMeant = (value: unknown, ast: SchemaAST.AST): unknown => {
  if (typeof value === "string") return scalarMeant(value, ast)
  if (JsonText.is(value)) return exactMeant(value, ast)
  if (Array.isArray(value)) {
    const items = SchemaAST.isArrays(ast) ? ast.rest[0] : undefined
    return items === undefined ? value : value.map((item) => asMeant(item, items))
  }
  if (typeof value !== "object" || value === null || !SchemaAST.isObjects(ast)) return value
  const types = new Map(ast.propertySignatures.map(({ name, type }) => [name, type]))
  const parts: object = {}
  for (const [name, part] of Object.entries(value)) {
    const type = types.get(name)
    if (type === undefined) setMember(parts, name, part)
    else if (SchemaAST.isOptional(type) && isNothing(name, part, type)) continue
    else setMember(parts, name, asMeant(part, type))
  }
  return parts
}
