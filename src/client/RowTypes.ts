import type { RawNumber } from "../domain/json/JsonText.ts"

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

export type FieldName<Row> = Extract<keyof Row | keyof SystemFields, string>

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
