import type { UsageLimits } from "../domain/Limits.ts"
import type { Query, AnyRow, Stored } from "./RowTypes.ts"

export type { UsageLimits }

/** What to tell of tables beside their names and rows. */
export interface Include {
  readonly include?: "fields"
}

/** A table. The last three are there with `include: "fields"`. */
export interface Table {
  readonly name: string
  /** How many rows are live. */
  readonly rows: number
  /** When a row was last added or changed; null without any row. */
  readonly updated_at?: string | null
  /** The fields of its rows, those that most rows have first: at most 50. */
  readonly fields?: ReadonlyArray<TableField>
  /** How many further fields there are. */
  readonly more_fields?: number
}

/** A field of a table's rows. `types` tells how many rows have it, by the type of its value. */
export interface TableField {
  readonly name: string
  readonly types: {
    readonly [Type in "string" | "number" | "boolean" | "null" | "array" | "object"]?: number
  }
}

/** A row that has the words of a search. */
export interface SearchHit {
  readonly table: string
  readonly id: string
  /** Where the words occur, with `…` for what is left out. */
  readonly snippet: string
  readonly updated_at: string
}

/** What a search of all tables found. */
export interface SearchAnswer {
  /** The rows that changed last, the newest first: at most 20. */
  readonly hits: ReadonlyArray<SearchHit>
  /** How many rows match in all. */
  readonly matched: number
  readonly has_more: boolean
  /** A hint, such as why nothing may have been found. */
  readonly note?: string
}

/** Rows by table: what an export gives, and an import takes. */
export type AccountRows = Readonly<Record<string, ReadonlyArray<Stored<AnyRow>>>>

/** How many rows were imported, or would be, and how many tables they are in. */
export interface ImportAnswer {
  readonly tables: number
  readonly rows: number
}

/** What the account holds, what it may hold (bytes are of UTF-8), and what the asking key may still send at once. */
export interface Usage {
  readonly account_id: string
  readonly key: { readonly id: string; readonly name: string }
  readonly tables: number
  readonly rows: number
  readonly storage_bytes: number
  readonly version_storage_bytes: number
  readonly limits: UsageLimits
  readonly remaining: { readonly writes: number; readonly reads: number }
}

/** What can be known of a key after it was made; never the key itself. */
export interface ApiKey {
  readonly id: string
  readonly account_id: string
  readonly name: string
  readonly prefix: string
  readonly scope: "*"
  readonly revoked_at: string | null
  readonly created_at: string
  /** Right to a minute. */
  readonly last_used_at: string | null
}

interface PageQuery {
  /** The `next_cursor` of the page before. */
  readonly cursor?: string
}

/** A page of a list. `next_cursor` is there, and `has_more` is true, if there are more. */
interface Page {
  readonly has_more: boolean
  readonly next_cursor?: string
  /** Why nothing may be listed of the table. */
  readonly note?: string
}

/** Which keys to list. */
export interface KeyQuery extends PageQuery {
  /** 1 to 1000; 1000 when it is not said. */
  readonly limit?: number
}

/** Some keys, the oldest first. `next_cursor` is there, and `has_more` is true, if there are more. */
export interface KeyPage {
  readonly keys: ReadonlyArray<ApiKey>
  readonly has_more?: boolean
  readonly next_cursor?: string
}

export interface CreatedApiKey extends ApiKey {
  /** The key itself, shown in this answer only. */
  readonly api_key: string
}

/** A client of `/mcp` that the account's owner let in. */
export interface Connection {
  readonly id: string
  readonly client_name: string
  readonly access: "full" | "read" | "tables"
  /** The tables it is confined to when `access` is `tables`, else null. */
  readonly tables: ReadonlyArray<string> | null
  readonly created_at: string
  readonly last_used_at: string | null
}

export interface RowLink {
  readonly table: string
  readonly id: string
}

export interface TextFieldLink extends RowLink {
  /** A field that holds a string. */
  readonly field: string
}

export interface QueryLink extends Omit<Query, "cursor"> {
  readonly table: string
}

/** Two short-lived addresses for people. Whoever has one can use it until `expires_at`. */
export interface CreatedLink {
  readonly viewer_url: string
  readonly download_url: string
  readonly editable: boolean
  readonly expires_at: string
}

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
export interface ChangeQuery extends DeletedQuery {
  /** The changes after the one with this number, oldest first; 0 for the first. Without it, newest first. */
  readonly since?: number
  readonly table?: string
  /** The id of a key, connection or link: only its changes. */
  readonly by?: string
}

/** Some changes. */
export interface ChangePage extends Page {
  readonly changes: ReadonlyArray<Change>
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
export interface DeletedQuery extends PageQuery {
  /** 1 to 1000; 100 by default. */
  readonly limit?: number
}

/** Some deleted rows, each as the version to restore. */
export interface DeletedPage extends Page {
  readonly versions: ReadonlyArray<Version>
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
