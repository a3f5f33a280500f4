import type { JsonText } from "../domain/json/JsonText.ts"
import { AgentMemoryError } from "./AgentMemoryError.ts"
import { checkedFilter } from "./Filters.ts"
import type { RowReader } from "./RowReader.ts"
import type {
  AnyRow,
  Filter,
  Stored,
  UpdateRow,
  UpdateWhere,
  UpdateWhereAnswer,
  Upsert,
  UpsertAnswer
} from "./Types.ts"

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
  readonly delete: (filter: Filter<Row>) => BatchOperation<number>
}

/** The results of a batch's operations, each at its operation's place. */
export type BatchResults<Operations extends ReadonlyArray<BatchOperation<unknown>>> = {
  readonly [Index in keyof Operations]: Operations[Index] extends BatchOperation<infer Result> ? Result : never
}

/** An operation as the service takes it. */
export interface SentOperation extends BatchOperation<unknown> {
  readonly row?: AnyRow
  readonly filter?: Filter
  readonly patch?: AnyRow
}

export const batch: Batch<AnyRow> = {
  add: (row, { idempotencyKey } = {}) => operation({ action: "add", row, idempotencyKey }),
  upsert: ({ key, row }) => operation({ action: "upsert", key, row }),
  updateRow: ({ id, patch }) => operation({ action: "update_row", id, patch }),
  updateWhere: ({ allowMultiple, filter, patch }) =>
    operation({ action: "update_where", filter, patch, allowMultiple }),
  delete: (filter) => operation({ action: "delete", filter })
}

const operation = <Result>(members: SentOperation & AnyRow): BatchOperation<Result> => members as BatchOperation<Result>

/** Checks what a batch's function made before it is sent. */
export const checkedOperations = (operations: ReadonlyArray<SentOperation>): ReadonlyArray<SentOperation> => {
  // In JavaScript it is easily written without what it returns.
  if (!Array.isArray(operations)) {
    throw new AgentMemoryError({
      code: "invalid_request",
      detail: "The function of the batch returned no list of operations.",
      hint: "Return them in an array, for example batch((b) => [b.add(row), b.delete(filter)])."
    })
  }
  for (const { filter } of operations) if (filter !== undefined) checkedFilter(filter)
  return operations
}

/** One result as the service gives it; what it holds depends on the action, as with the operations alone. */
export interface SentResult {
  readonly action: BatchOperation<unknown>["action"]
  readonly result: JsonText
}

/** An operation's result as the table's method of its name gives it. */
export const readResult = async ({ action, result }: SentResult, reader: RowReader): Promise<unknown> => {
  if (action === "add") return reader.row(result)
  const { created, deleted, row, rows, updated } = reader.parts(result)
  switch (action) {
    case "upsert":
      return { created, row: await reader.row(row!) }
    case "update_row":
      return reader.row(row!)
    case "update_where":
      return { updated, rows: await reader.rows(rows!) }
    case "delete":
      return deleted
  }
}
