import type { RawNumber } from "../domain/json/JsonText.ts"
import type { UsageLimits } from "../domain/Limits.ts"

export type { UsageLimits }

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

type Ordered<Value> = Extract<Comparable<Value>, string | number | bigint | RawNumber>

type Element<Value> = unknown extends Value
  ? Scalar
  : Value extends ReadonlyArray<infer Item>
    ? Comparable<Item>
    : never

/**
 * What a field has to be, all of it. `ne` includes rows without the field. `gt`, `gte`, `lt` and `lte` compare numbers with
 * numbers and strings, by code point, with strings; `created_at` and `updated_at` with times or dates. `contains` ignores
 * case and accents, `has` looks for an element of an array.
 */
export interface Operators<Value> {
  readonly eq?: Comparable<Value>
  readonly ne?: Comparable<Value>
  readonly gt?: Ordered<Value>
  readonly gte?: Ordered<Value>
  readonly lt?: Ordered<Value>
  readonly lte?: Ordered<Value>
  /** One to 100 values. */
  readonly in?: ReadonlyArray<Comparable<Value>>
  readonly exists?: boolean
  readonly contains?: Extract<Comparable<Value>, string> extends never ? never : string
  readonly has?: Element<Value>
}

/**
 * Top-level fields with the values they must have, by type and value (`1` equals `1.0`, not `"1"`), or with operators:
 * `{ price: { gte: 10, lt: 20 } }`.
 */
export type Filter<Row = AnyRow> = {
  readonly [Field in keyof Row]?: Comparable<Row[Field]> | Operators<Row[Field]>
} & { readonly [Field in keyof SystemFields]?: string | Operators<string> }

type FieldName<Row> = Extract<keyof Row | keyof SystemFields, string>

/** Names of fields to read; `*` stands for all of a row's own fields. */
export type Fields<Row = AnyRow> = ReadonlyArray<FieldName<Row> | "*">

/** What is read of a row where these fields were asked for: always its `id`. */
export type Chosen<Row, Names extends Fields<Row>> = (Names[number] extends infer Name
  ? "*" extends Name
    ? Row
    : Pick<Stored<Row>, Extract<Name, keyof Stored<Row>>>
  : never) &
  Pick<SystemFields, "id">

/** What a query gives of a row: all of it as `Read`, or the fields asked for as they are stored. */
export type Found<Row, Read, Names extends Fields<Row> | undefined> =
  Names extends Fields<Row> ? Chosen<Row, Names> : Stored<Read>

/** A search beside a filter. */
export interface Search {
  /** Words that must all occur in the row's strings, whatever their case and accents: 1 to 200 characters. */
  readonly search?: string
}

/** Which rows to read, and what of them. */
export interface Query<Row = AnyRow, Names extends Fields<Row> | undefined = Fields<Row> | undefined> extends Search {
  /** Absent or empty: all rows. */
  readonly filter?: Filter<Row>
  /** A field's name, with `-` in front for descending order. Without it, rows come in insertion order. */
  readonly sort?: FieldName<Row> | `-${FieldName<Row>}`
  /** 1 to 1000; 100 when it is not said. */
  readonly limit?: number
  /** 1 to 50 names: rows then have these fields, and always `id`, without being checked by the table's schema. */
  readonly fields?: Names
  /** The `next_cursor` of the page before, for the same filter and sort. */
  readonly cursor?: string
}

/** A page of rows. While rows are added, changed and deleted, one that is there all the while is on one page only. */
export interface QueryAnswer<Row> {
  readonly rows: ReadonlyArray<Row>
  /** Whether `limit` cut rows off. */
  readonly has_more: boolean
  /** With `has_more`: the `cursor` that goes on behind these rows. */
  readonly next_cursor?: string
  /** A hint, such as why there is no `next_cursor`. */
  readonly note?: string
}

/** Which rows to count, and what to add up of them: each names a field. */
export interface Summarize<Row = AnyRow> extends Search {
  /** Absent or empty: all rows. */
  readonly filter?: Filter<Row>
  /** Groups by this field's values, also within which the others are found. */
  readonly by?: FieldName<Row>
  readonly sum?: FieldName<Row>
  readonly min?: FieldName<Row>
  readonly max?: FieldName<Row>
  readonly avg?: FieldName<Row>
}

/** What was found of one field's numbers. */
export interface Measured {
  /** As the client's `numbers` option has it; an average has up to 20 digits. Null without any number. */
  readonly value: number | bigint | RawNumber | null
  /** How many rows have a number in the field. */
  readonly numbers: number
  /** How many do not, and are left out. */
  readonly others: number
  /** Why `value` is null though there are numbers. */
  readonly note?: string
}

/** How many rows there are, and the measures that were asked for. */
export interface Measures {
  readonly count: number
  readonly sum?: Measured
  readonly min?: Measured
  readonly max?: Measured
  readonly avg?: Measured
}

/** What rows add up to. The last three are there where they were grouped `by` a field. */
export interface Summary extends Measures {
  /** The groups that most rows are in, most first: at most 100. */
  readonly groups?: ReadonlyArray<Measures & { readonly value: unknown }>
  /** The further groups, and how many rows are in them. */
  readonly other?: { readonly groups: number; readonly count: number }
  /** How many rows lack the field. */
  readonly missing?: number
  /** Why no row may have matched. */
  readonly note?: string
}

export interface Upsert<Row = AnyRow, Written = Row> {
  /** The name, or names, of the row's fields that identify it. */
  readonly key: FieldName<Row> | ReadonlyArray<FieldName<Row>>
  /** The whole row: fields that are left out are gone afterwards. */
  readonly row: Written & Partial<SystemFields>
  /** The `updated_at` that the row must still have; null if there must be none. Otherwise `edit_conflict`. */
  readonly ifUpdatedAt?: string | null
}

export interface UpsertAnswer<Row> {
  readonly created: boolean
  readonly row: Row
}

/** The fields to set; others stay. Those that are undefined are not sent. */
export type Patch<Row = AnyRow> = Partial<Row> & Partial<SystemFields>

/**
 * A change of one field, made from what the row holds at that moment, so that concurrent ones all count. A field that is
 * missing is empty text, 0 or an empty array; `old` must be in the text exactly once. Decimals are added exactly.
 */
export type Edit<Row = AnyRow> = { readonly field: Extract<keyof Row, string> } & (
  | { readonly op: "append"; readonly text: string }
  | { readonly op: "replace"; readonly old: string; readonly new: string }
  | { readonly op: "increment"; readonly by: number | bigint | RawNumber }
  | { readonly op: "push"; readonly value: unknown }
  | { readonly op: "remove" }
)

/** What an update does to a row: a patch, then up to 20 edits, or one of them. */
export interface Changes<Row = AnyRow> {
  readonly patch?: Patch<Row>
  readonly edits?: ReadonlyArray<Edit<Row>>
}

/** That a write may only be carried out on what was read. */
export interface Guarded {
  /** The `updated_at` that the row, or each row that matches, must still have. Otherwise `edit_conflict`. */
  readonly ifUpdatedAt?: string
}

export interface UpdateRow<Row = AnyRow> extends Changes<Row>, Guarded {
  readonly id: string
}

export interface UpdateWhere<Row = AnyRow> extends Changes<Row>, Guarded, Search {
  /** At least one field; beside a search it may be empty. */
  readonly filter: Filter<Row>
  /** Without it, exactly one row has to match. */
  readonly allowMultiple?: boolean
}

export interface UpdateWhereAnswer<Row> {
  readonly updated: number
  readonly rows: ReadonlyArray<Row>
  /** Is there if the patch looks like another database's operators, which are stored as they are. */
  readonly note?: string
}

export interface Restore extends Guarded {
  readonly id: string
  readonly version: number
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

declare const result: unique symbol

/** One operation of a batch. `Result` is what it will have given when the batch is done. */
export interface BatchOperation<Result> {
  readonly action: "add" | "upsert" | "update_row" | "update_where" | "delete"
  readonly [result]?: Result
}

/**
 * Makes the operations of a batch. They are carried out in the order in which the batch's function lists them. `Row` is
 * what is stored, `Read` what reading gives, `Written` what is given to be stored.
 */
export interface Batch<Row, Read = Row, Written = Row> {
  readonly add: (
    row: Written,
    options?: { readonly idempotencyKey?: string | undefined }
  ) => BatchOperation<Stored<Read>>
  readonly upsert: (upsert: Upsert<Row, Written>) => BatchOperation<UpsertAnswer<Stored<Read>>>
  readonly updateRow: (update: UpdateRow<Row>) => BatchOperation<Stored<Read>>
  readonly updateWhere: (update: UpdateWhere<Row>) => BatchOperation<UpdateWhereAnswer<Stored<Read>>>
  readonly delete: (filter: Filter<Row>, options?: Guarded & Search) => BatchOperation<number>
}

/** The results of a batch's operations, each at its operation's place. */
export type BatchResults<Operations extends ReadonlyArray<BatchOperation<unknown>>> = {
  readonly [Index in keyof Operations]: Operations[Index] extends BatchOperation<infer Result> ? Result : never
}

/**
 * A schema of any library that speaks Standard Schema (https://standardschema.dev), such as Zod, Valibot, ArkType and,
 * through `Schema.toStandardSchemaV1`, Effect. `Input` is what is stored, `Output` what reading gives.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => Validation<Output> | Promise<Validation<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

type Validation<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: ReadonlyArray<Issue> }

/** One thing that is wrong with a value, and where. */
export interface Issue {
  readonly message: string
  readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
}
