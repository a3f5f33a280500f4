import type { RawNumber } from "../domain/json/RawNumber.ts"

/** The fields that the service adds to every row; times are RFC 3339 in UTC with milliseconds. */
export interface SystemFields {
  readonly id: string
  readonly created_at: string
  readonly updated_at: string
}

/** A row as it is stored: its own fields with the system fields. */
export type Stored<Row> = Row & SystemFields

/** A row whose fields are not known to the type checker. */
export type AnyRow = Record<string, unknown>

/** What a field can be compared with. Numbers compare by value at any precision. */
export type Scalar = string | number | bigint | boolean | null | RawNumber

type Comparable<Value> = unknown extends Value ? Scalar : Extract<Value, Scalar> | AnyNumber<Value> | null

type AnyNumber<Value> = Extract<Value, number | bigint | RawNumber> extends never ? never : number | bigint | RawNumber

/** Top-level fields with the values they must have, by type and value: `1` equals `1.0`, not `"1"`. */
export type Filter<Row = AnyRow> = { readonly [Field in keyof Row]?: Comparable<Row[Field]> } & Partial<SystemFields>

type FieldName<Row> = Extract<keyof Row | keyof SystemFields, string>

/** Which rows to read. */
export interface Query<Row = AnyRow> {
  /** Absent or empty: all rows. */
  readonly filter?: Filter<Row>
  /** A field's name, with `-` in front for descending order. Without it, rows come in insertion order. */
  readonly sort?: FieldName<Row> | `-${FieldName<Row>}`
  /** 1 to 1000; 100 when it is not said. */
  readonly limit?: number
}

export interface QueryAnswer<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Whether `limit` cut rows off. */
  readonly has_more: boolean
}

export interface Upsert<Row = AnyRow, Written = Row> {
  /** The name, or names, of the row's fields that identify it. */
  readonly key: FieldName<Row> | ReadonlyArray<FieldName<Row>>
  /** The whole row: fields that are left out are gone afterwards. */
  readonly row: Written & Partial<SystemFields>
}

export interface UpsertAnswer<Row> {
  readonly created: boolean
  readonly row: Row
}

/** The fields to set; others stay. Those that are undefined are not sent. */
export type Patch<Row = AnyRow> = Partial<Row> & Partial<SystemFields>

export interface UpdateRow<Row = AnyRow> {
  readonly id: string
  readonly patch: Patch<Row>
}

export interface UpdateWhere<Row = AnyRow> {
  /** At least one field. */
  readonly filter: Filter<Row>
  readonly patch: Patch<Row>
  /** Without it, exactly one row has to match. */
  readonly allowMultiple?: boolean
}

export interface UpdateWhereAnswer<Row> {
  readonly updated: number
  readonly rows: ReadonlyArray<Row>
}

export interface Restore {
  readonly id: string
  readonly version: number
}

/** An archived version of a row, and what replaced it, when and by whom. */
export interface Version {
  readonly version: number
  readonly id: string
  readonly table: string
  readonly operation: "update" | "delete" | "restore"
  readonly changed_by: { readonly kind: "key" | "mcp" | "link"; readonly id: string; readonly name: string }
  readonly archived_at: string
  readonly expires_at: string
  /** As it was: no schema checks it, since it may be older than the schema. */
  readonly row: Stored<AnyRow>
}

export interface Table {
  readonly name: string
  /** How many rows are live. */
  readonly rows: number
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

export interface UsageLimits {
  readonly tables: number
  readonly rows_per_table: number
  readonly storage_bytes: number
  readonly row_bytes: number
  readonly batch_operations: number
  readonly writes_per_minute: number
  readonly reads_per_minute: number
  readonly account_writes_per_minute: number
  readonly account_reads_per_minute: number
  readonly versions_per_row: number
  readonly version_days: number
  readonly version_storage_bytes: number
  readonly active_keys: number
  readonly keys_per_hour: number
  readonly revoked_key_days: number
  readonly live_links: number
  readonly request_bytes: number
  readonly import_request_bytes: number
  readonly auth_request_bytes: number
  readonly idempotency_storage_bytes: number
  readonly idempotency_hours: number
  readonly magic_link_minutes: number
  readonly link_minutes: number
  readonly magic_links_per_email_per_hour: number
  readonly magic_links_per_ip_per_hour: number
  readonly verifies_per_ip_per_hour: number
  readonly registrations_per_ip_per_hour: number
  readonly mcp_requests_per_ip_per_minute: number
  readonly anonymous_posts_per_ip_per_minute: number
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

/** Which keys to list. */
export interface KeyQuery {
  /** 1 to 1000; 1000 when it is not said. */
  readonly limit?: number
  /** The `next_cursor` of the page before. */
  readonly cursor?: string
}

/** Some keys, the oldest first. `next_cursor` is there, and `has_more` is true, when there are more. */
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

export interface QueryLink extends Query {
  readonly table: string
}

/** Two short-lived addresses for people. Whoever has one can use it until `expires_at`. */
export interface CreatedLink {
  readonly viewer_url: string
  readonly download_url: string
  readonly editable: boolean
  readonly expires_at: string
}
