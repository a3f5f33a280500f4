import { DateTime, Result, Option, Schema } from "effect"
import { JsonText, print } from "./json/JsonText.ts"
import { members, objectOf, type Member } from "./json/Members.ts"
import { decodeString } from "./json/Lexemes.ts"
import { scanObject } from "./json/ParseEnvelope.ts"
import { Base64Url } from "effect/encoding"

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
  const time = (member: Member | undefined) => timeOf(decodeString(member!.value))!
  return { id: decodeString(id!.value), createdAt: time(createdAt), updatedAt: time(updatedAt), data: objectOf(own) }
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

/** The row that a person typed, checked by the rules of the service; a failure says what is wrong, for people. */
export const checkRow = (typed: string, limit: number): Result.Result<JsonText, string> => {
  const scanned = scanObject(typed)
  if (scanned.issue !== undefined) {
    const { code, message } = scanned.issue
    return Result.fail(code === "invalid_request" ? "A row must be a JSON object: {…}." : message)
  }
  const reserved = members(scanned.value).find(({ name }) => systemFields.has(name))
  if (reserved !== undefined) {
    return Result.fail(`The field ${reserved.name} is set by the service. Use another name.`)
  }
  const over = scanned.value.bytes - limit
  return over > 0
    ? Result.fail(`The row is ${over.toLocaleString("en")} bytes over the limit. Shorten it to save.`)
    : Result.succeed(scanned.value)
}

/** Who made a change, with the name of then. Of a person, `id` and `name` only say that it was the owner. */
export const ChangedBy = Schema.Struct({
  kind: Schema.Literals(["key", "mcp", "link", "person"]),
  id: Schema.String,
  name: Schema.String
})
export type ChangedBy = typeof ChangedBy.Type

export const changedByText = (by: ChangedBy): string => print({ kind: by.kind, id: by.id, name: by.name })

/** An archived row version: the row as it was, and what replaced it, when and by whom. Times in milliseconds. */
export interface Version {
  readonly version: number
  readonly table: string
  readonly operation: "update" | "delete" | "restore"
  /** The number of the write that replaced it; null where that is of before changes had numbers. */
  readonly change: number | null
  readonly changedBy: JsonText
  readonly archivedAt: number
  readonly expiresAt: number
  readonly row: Row
}

/** Who made what a live row holds, by which change; both null where it was last written before changes had numbers. */
export interface CurrentAuthor {
  readonly updatedAt: number
  readonly change: number | null
  readonly changedBy: JsonText | null
}

/** A live row's last change as callers see it. */
export const currentText = ({ change, changedBy, updatedAt }: CurrentAuthor): string =>
  `{"updated_at":"${timeText(updatedAt)}","change":${change},"changed_by":${changedBy?.text ?? "null"}}`

/** The version as callers see it. */
export const versionText = (version: Version): string =>
  `{"version":${version.version},"id":"${version.row.id}","table":"${version.table}",` +
  `"operation":"${version.operation}","change":${version.change},"changed_by":${version.changedBy.text},` +
  `"archived_at":"${timeText(version.archivedAt)}","expires_at":"${timeText(version.expiresAt)}",` +
  `"row":${rowText(version.row).text}}`

/** The parts of a list's cursor by their format; none for any other text. */
export const cursorParts = (cursor: string, format: RegExp): Option.Option<ReadonlyArray<string>> =>
  Option.flatMap(Option.getSuccess(Base64Url.decodeString(cursor)), (text) =>
    Option.map(Option.fromNullishOr(format.exec(text)), (parts) => parts.slice(1))
  )

/** The position of an entry in a list by times, in milliseconds. */
export interface TimedPlace {
  readonly at: number
  readonly id: string
}

/** The cursor of the page after an entry. */
export const timedCursor = ({ at, id }: TimedPlace): string => Base64Url.encode(`${at} ${id}`)

/** Reads {@link timedCursor}; none for any other text. */
export const timedPlaceOf = (cursor: string): Option.Option<TimedPlace> =>
  Option.map(cursorParts(cursor, /^(\d{1,13}) ([0-9a-f-]{36})$/), ([at, id]) => ({ at: Number(at), id: id! }))

/** The cursor of the page after a deleted row. */
export const cursorAfterDeleted = ({ archivedAt, row }: Version): string => timedCursor({ at: archivedAt, id: row.id })
