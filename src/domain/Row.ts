import { DateTime } from "effect"
import { JsonText } from "./json/JsonText.ts"
import { members, type Member } from "./json/Members.ts"
import { decodeString } from "./json/Lexemes.ts"

/** The fields that the service adds to every row. Callers may not set them. */
export const systemFields: ReadonlySet<string> = new Set(["id", "created_at", "updated_at"])

/** Whether a text can be the id of a row. Callers may ask for any text; one that cannot is simply not found. */
export const isRowId = (text: string): boolean => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)

/** A live row: times in milliseconds since 1970 UTC, `data` the row's own fields as the caller sent them. */
export interface Row {
  readonly id: string
  readonly createdAt: number
  readonly updatedAt: number
  readonly data: JsonText
}

let lastSecond = Number.NaN
let lastText = ""

/** RFC 3339 in UTC with milliseconds: the one spelling of times on the wire. Rows of one response often share a second. */
export const timeText = (milliseconds: number): string => {
  const second = Math.floor(milliseconds / 1000)
  if (second !== lastSecond) {
    lastText = DateTime.formatIso(DateTime.makeUnsafe(second * 1000)).slice(0, -4)
    lastSecond = second
  }
  return `${lastText}${String(milliseconds - second * 1000).padStart(3, "0")}Z`
}

/** The instant of a time in exactly the wire's spelling; any other text names no instant a row can have. */
export const timeOf = (text: string): number | undefined => {
  const milliseconds = Date.parse(text)
  return Number.isNaN(milliseconds) || timeText(milliseconds) !== text ? undefined : milliseconds
}

/** Reads {@link rowText}. */
export const rowOf = (text: JsonText): Row => {
  const [id, createdAt, updatedAt, ...own] = members(text)
  const data = JsonText.trusted(`{${own.map(({ rawName, value }) => `${rawName}:${value}`).join()}}`)
  const time = (member: Member | undefined) => timeOf(decodeString(member!.value))!
  return { id: decodeString(id!.value), createdAt: time(createdAt), updatedAt: time(updatedAt), data }
}

const partsOf = (row: Row): readonly [head: string, own: string] => {
  const own = row.data.text
  const head = `{"id":"${row.id}","created_at":"${timeText(row.createdAt)}","updated_at":"${timeText(row.updatedAt)}"`
  return own.length === 2 ? [head, "}"] : [`${head},`, own.slice(1)]
}

/** The row as callers see it: system fields first, then its own fields, spliced as text so that no value changes. */
export const rowText = (row: Row): JsonText => {
  const [head, own] = partsOf(row)
  return JsonText.trusted(head + own)
}

/** The text of these rows as the items of an array, in parts that copy none of the rows' own fields. */
export const rowParts = (rows: ReadonlyArray<Row>): ReadonlyArray<string> =>
  rows.flatMap((row, index) => {
    const [head, own] = partsOf(row)
    return [index === 0 ? head : `,${head}`, own]
  })
