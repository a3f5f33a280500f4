import { JsonText } from "../../domain/json/JsonText.ts"
import { decodeString } from "../../domain/json/Lexemes.ts"
import { members, readItems } from "../../domain/json/Members.ts"

/** How many ids of changed rows one receipt holds. */
const maxIds = 500

/** The members that the service sets stand first in a row, so that its own fields need not be read. */
const systemFields = /^\{("id":"(?:[^"\\]|\\.)*"),"created_at":"[^"]*","updated_at":"[^"]*"/

const fieldsOf = (row: string): string => systemFields.exec(row)![0].slice(1)

const idOf = (row: string): string => systemFields.exec(row)![1]!.slice('"id":'.length)

/** What an update of several rows says of them: how many, and which. */
const updateReceipt = (rows: ReadonlyArray<string>): string => {
  const more = rows.length > maxIds ? ',"has_more":true' : ""
  return `"updated":${rows.length},"ids":[${rows.slice(0, maxIds).map(idOf).join()}]${more}`
}

/** The members of a result, with what a row is known by in the place of each row. */
const withoutRows = (result: JsonText, known: (row: string) => string): JsonText => {
  const parts = members(result).flatMap(({ name, value }) => {
    if (name === "row") return [known(value)]
    if (name === "rows") return [updateReceipt(readItems(value))]
    return name === "updated" ? [] : [`${JSON.stringify(name)}:${value}`]
  })
  return JsonText.trusted(`{${parts.join()}}`)
}

/** The receipt of an add, from the row that it stored: `id`, `created_at` and `updated_at`. */
export const addReceipt = (row: JsonText): JsonText => JsonText.trusted(`{${fieldsOf(row.text)}}`)

/** Of so many rows the ids are told unasked: of more they would cost a model more than the rows did. */
const fewIds = 20

/** The receipt of several adds, from the rows that they stored. */
export const addsReceipt = (rows: ReadonlyArray<string>): JsonText => {
  const ids = rows.length > fewIds ? "" : `,"ids":[${rows.map(idOf).join()}]`
  return JsonText.trusted(`{"added":${rows.length}${ids}}`)
}

/** The receipt of any other single write: its counts, and of a row its `id`, `created_at` and `updated_at`, of several their ids. */
export const receipt = (body: JsonText): JsonText => withoutRows(body, fieldsOf)

/** The receipt of a batch: of each operation its counts and the ids of its rows, whose times are all the same. */
export const batchReceipt = (body: JsonText): JsonText => {
  const results = readItems(members(body)[0]!.value).map((text) => {
    const [index, action, result] = members(JsonText.trusted(text))
    const known = (row: string) => `"id":${idOf(row)}`
    const isAdd = decodeString(action!.value) === "add"
    const told = isAdd ? `{${known(result!.value)}}` : withoutRows(JsonText.trusted(result!.value), known).text
    return `{"index":${index!.value},"action":${action!.value},"result":${told}}`
  })
  return JsonText.trusted(`{"results":[${results.join()}]}`)
}
