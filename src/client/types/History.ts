import type { AnyRow, Stored } from "./Rows.ts"

/** An archived version of a row, and what replaced it, when and by whom. */
export interface Version {
  readonly version: number
  readonly id: string
  readonly table: string
  readonly operation: "update" | "delete" | "restore"
  /** The number of the write that replaced it; null if it was replaced before changes had numbers. */
  readonly change: number | null
  readonly changed_by: ChangedBy
  readonly archived_at: string
  readonly expires_at: string
  /** As it was: no schema checks it, since it may be older than the schema. */
  readonly row: Stored<AnyRow>
}

/** Who made a change: an API key, an MCP client, a link or the account's owner, with the name it had then. */
export interface ChangedBy {
  readonly kind: "key" | "mcp" | "link" | "person"
  readonly id: string
  readonly name: string
}

/** What one write did to one row, when and by whom. All rows of a write have its number, `change`. */
export interface Change {
  readonly change: number
  readonly at: string
  readonly table: string
  readonly operation: "add" | "update" | "delete" | "restore" | "import"
  readonly row_id: string
  readonly changed_by: ChangedBy
  /** The version that has the row as it was before the write, if there is one. */
  readonly version?: number
}

/** Which changes to list. */
export interface ChangeQuery {
  /** The changes after the one with this number, oldest first; 0 for the first. Without it, newest first. */
  readonly since?: number
  readonly table?: string
  /** The id of a key, connection or link: only its changes. */
  readonly by?: string
  /** 1 to 1000; 100 by default. */
  readonly limit?: number
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string
}

/** Some changes. `next_cursor` is there, and `has_more` is true, if there are more. */
export interface ChangePage {
  readonly changes: ReadonlyArray<Change>
  readonly has_more: boolean
  readonly next_cursor?: string
  /** Why nothing may be listed of the table. */
  readonly note?: string
}

/** What was deleted for good, or would be. */
export interface Forgotten {
  /** How many rows there were, and are no more. */
  readonly deleted: number
  /** How many rows are gone for good, those included that had been deleted before. */
  readonly forgotten: number
  /** The ids of these rows, at most 500; `has_more` is true if there are others. */
  readonly ids: ReadonlyArray<string>
  readonly has_more?: boolean
  /** The number of this write; absent in a dry run, and if there was nothing to delete. */
  readonly change?: number
  /** Why nothing may have matched. */
  readonly note?: string
}

/** Which deleted rows to list. */
export interface DeletedQuery {
  /** 1 to 1000; 100 by default. */
  readonly limit?: number
  /** The `next_cursor` of the previous page. */
  readonly cursor?: string
}

/** Some deleted rows, each as the version to restore. `next_cursor` is there, and `has_more` is true, if there are more. */
export interface DeletedPage {
  readonly versions: ReadonlyArray<Version>
  readonly has_more: boolean
  readonly next_cursor?: string
  /** Why nothing may be listed of the table. */
  readonly note?: string
}

/** What an undo did, or would do, to each row of the change that it took back. */
export interface UndoAnswer {
  readonly undone: number
  /** The number of this undo, which can itself be undone; absent in a dry run. */
  readonly change?: number
  readonly rows: ReadonlyArray<{
    readonly table: string
    readonly operation: "delete" | "restore"
    readonly row_id: string
  }>
}
