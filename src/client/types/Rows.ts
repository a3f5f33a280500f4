import type { RawNumber } from "../../domain/json/JsonText.ts"

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
