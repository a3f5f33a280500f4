import { operations } from "../wire/Operations.ts"
import { isValue, json, jsonWorst, queryBytes, queryWorst, type Door, type Expected } from "./Doors.ts"

const batchSamples = [
  '{"operations":[{"action":"add","row":{"n":1},"idempotencyKey":"k"}]}',
  '{"operations":[{"action":"upsert","key":"n","row":{"n":1}}]}',
  '{"operations":[{"action":"update_row","id":"$id","patch":{"n":1}}]}',
  '{"operations":[{"action":"update_where","filter":{"n":1},"patch":{"n":1},"allowMultiple":true}]}',
  '{"operations":[{"action":"delete","filter":{"n":1},"ifUpdatedAt":"2026-11-27T20:07:59.549Z"}]}',
  '{"operations":[{"action":"update_row","id":"$id","edits":[{"op":"push","field":"a","value":1}]}]}'
]

const isText = (shape: string): boolean => shape === "a long text" || shape === "escapes"

/** An id is any text, which nothing has: the operations that say so, by what they say. */
const notFound: Readonly<Record<string, string>> = {
  "rows.batch": "row_not_found",
  "rows.updateRow": "row_not_found",
  "links.row": "row_not_found",
  "links.textField": "row_not_found",
  "versions.restore": "version_not_found"
}

/** The codes that only some operations have beside those of a row. */
const ownCodes = (name: string): ReadonlyArray<string> => {
  if (name === "tables.import") return ["row_limit", "table_limit"]
  return name.startsWith("links.") ? ["invalid_table_name"] : []
}

const expectedOfBody = (name: string, shape: string, place: string): Expected => {
  // Whatever it is, it is no token that was mailed.
  if (name === "auth.verify") return ["invalid_token"]
  if (shape === "an endless depth") return ["too_deep"]
  if (place.endsWith("/id") && isText(shape) && notFound[name] !== undefined) {
    // A link stores its target, and refuses one that is too long to be kept.
    return name.startsWith("links.") ? [notFound[name], "invalid_request"] : [notFound[name]]
  }
  return ["invalid_request", "row_too_large", ...ownCodes(name)]
}

const measures = ["by", "sum", "min", "max", "avg"]

/** What of a query's parameters may be any text: the name of a field to sort by or to add up, an id that nothing has. */
const anyText: Readonly<Record<string, ReadonlyArray<string>>> = {
  "rows.query": ["sort"],
  "rows.count": measures,
  "versions.list": ["id"]
}
const parameters = ["filter", "sort", "search", "fields", "cursor", "limit", "include", "id", "unknown", ...measures]
/** Of which operations such a parameter may be a single digit. */
const takesDigit: Readonly<Record<string, ReadonlyArray<string>>> = {
  limit: ["rows.query", "keys.list", "versions.deleted", "changes.list"],
  search: ["rows.query", "rows.count", "tables.search"],
  fields: ["rows.query"]
}

const expectedOfQuery = (name: string, shape: string, place: string): Expected => {
  if (anyText[name]?.includes(place) === true && isValue(shape)) return "legal"
  if (shape === "empty parameters" && takesDigit[place]?.includes(name) === true) return "legal"
  if (name === "rows.query" && place === "fields" && isText(shape)) return "legal"
  return ["invalid_request", "invalid_cursor", "invalid_json", "too_deep", "duplicate_field"]
}

/** Every operation of the REST interface, for an account with this key and a row of this id in the table `notes`. */
export const restDoors = (apiKey: string, id: string): ReadonlyArray<Door> =>
  Object.entries(operations).map(([name, { success }]) => {
    const [, [method, address, sample]] = success
    const path = address.split("?", 1)[0]!
    const authorization = name.startsWith("auth.") ? {} : { authorization: `Bearer ${apiKey}` }
    if (sample === undefined) {
      const worst = queryWorst(path, parameters, (shape, place) => expectedOfQuery(name, shape, place))
      return { name, method, path, headers: authorization, limit: queryBytes, worst }
    }
    const samples = (name === "rows.batch" ? batchSamples : [sample]).map((text) => text.replace("$id", id))
    const worst = jsonWorst(path, samples, (shape, place) => expectedOfBody(name, shape, place))
    // It tells nobody how long a token may be.
    const limit = name === "auth.verify" ? { limit: 16_384 } : {}
    return { name, method, path, headers: { ...json, ...authorization }, ...limit, worst }
  })
