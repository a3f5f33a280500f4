import type { RawNumber } from "../../domain/json/JsonText.ts"
import type { Search } from "./Reads.ts"
import type { AnyRow, FieldName, Filter, Stored, SystemFields } from "./Rows.ts"

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
