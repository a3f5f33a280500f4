import { Schema } from "effect"
import type { JsonText } from "./json/JsonText.ts"
import { print } from "./json/Print.ts"
import { rowText, timeText, type Row } from "./Row.ts"

/** Who made a change: an API key, an MCP client or a link, with the name it had then. */
export const ChangedBy = Schema.Struct({
  kind: Schema.Literals(["key", "mcp", "link"]),
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
  readonly changedBy: JsonText
  readonly archivedAt: number
  readonly expiresAt: number
  readonly row: Row
}

/** The version as callers see it. */
export const versionText = (version: Version): string =>
  `{"version":${version.version},"id":"${version.row.id}","table":"${version.table}",` +
  `"operation":"${version.operation}","changed_by":${version.changedBy.text},` +
  `"archived_at":"${timeText(version.archivedAt)}","expires_at":"${timeText(version.expiresAt)}",` +
  `"row":${rowText(version.row).text}}`
