import { Option, Schema } from "effect"
import { Base64Url } from "effect/encoding"
import { print, type JsonText } from "./json/JsonText.ts"
import { rowText, timeText, type Row } from "./Row.ts"

/**
 * Who made a change: an API key, an MCP client, a link, or the person whose account it is. `name` is the one it had then; for
 * a person both `id` and `name` say no more than that it was the account's owner.
 */
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

/**
 * Who made the content that a live row has, and by which change. Both are null where the row was last written before changes
 * had numbers.
 */
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

/** The position of a row in the list of deleted ones: when it was deleted, in milliseconds, and its id. */
export interface DeletedPlace {
  readonly archivedAt: number
  readonly id: string
}

const cursorFormat = /^(\d{1,15}) ([0-9a-f-]{36})$/

/** The cursor of the page after a deleted row. */
export const cursorAfterDeleted = ({ archivedAt, row }: Version): string => Base64Url.encode(`${archivedAt} ${row.id}`)

/** Reads {@link cursorAfterDeleted}; none for any other text. */
export const deletedPlaceOf = (cursor: string): Option.Option<DeletedPlace> =>
  Option.flatMap(Option.getSuccess(Base64Url.decodeString(cursor)), (text) => {
    const [, archivedAt, id] = cursorFormat.exec(text) ?? []
    return id === undefined ? Option.none() : Option.some({ archivedAt: Number(archivedAt), id })
  })
