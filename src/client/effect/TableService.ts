import type { Effect } from "effect"
import type { Batch, BatchOperation, BatchResults } from "../Batch.ts"
import type {
  Filter,
  Query,
  QueryAnswer,
  Restore,
  Stored,
  UpdateRow,
  UpdateWhere,
  UpdateWhereAnswer,
  Upsert,
  UpsertAnswer,
  Version
} from "../Types.ts"
import type { FailureOf, InvalidRow } from "./Failures.ts"

export interface IdempotencyOptions {
  /** As with the Promise client: without it each run of the effect makes a key of its own, which its tries share. */
  readonly idempotencyKey?: string | undefined
}

/**
 * One table. Rows are written and read as its schema has them (`Row`); filters, sorts, keys and patches speak of what is
 * stored (`Encoded`). Methods take and give what those of the Promise client do.
 */
export interface TableService<Row, Encoded = Row> {
  readonly name: string
  readonly add: (
    row: Row,
    options?: IdempotencyOptions
  ) => Effect.Effect<Stored<Row>, FailureOf<"rows", "add"> | InvalidRow>
  readonly query: (
    query?: Query<Encoded>
  ) => Effect.Effect<QueryAnswer<Stored<Row>>, FailureOf<"rows", "query"> | InvalidRow>
  readonly count: (filter?: Filter<Encoded>) => Effect.Effect<number, FailureOf<"rows", "count">>
  readonly upsert: (
    upsert: Upsert<Encoded, Row>,
    options?: IdempotencyOptions
  ) => Effect.Effect<UpsertAnswer<Stored<Row>>, FailureOf<"rows", "upsert"> | InvalidRow>
  readonly updateRow: (
    update: UpdateRow<Encoded>,
    options?: IdempotencyOptions
  ) => Effect.Effect<Stored<Row>, FailureOf<"rows", "updateRow"> | InvalidRow>
  readonly updateWhere: (
    update: UpdateWhere<Encoded>,
    options?: IdempotencyOptions
  ) => Effect.Effect<UpdateWhereAnswer<Stored<Row>>, FailureOf<"rows", "updateWhere"> | InvalidRow>
  readonly delete: (
    filter: Filter<Encoded>,
    options?: IdempotencyOptions
  ) => Effect.Effect<number, FailureOf<"rows", "delete">>
  readonly batch: <const Operations extends ReadonlyArray<BatchOperation<unknown>>>(
    build: (batch: Batch<Encoded, Row, Row>) => Operations,
    options?: IdempotencyOptions
  ) => Effect.Effect<BatchResults<Operations>, FailureOf<"rows", "batch"> | InvalidRow>
  readonly versions: (id: string) => Effect.Effect<ReadonlyArray<Version>, FailureOf<"versions", "list">>
  readonly restore: (
    restore: Restore,
    options?: IdempotencyOptions
  ) => Effect.Effect<Stored<Row>, FailureOf<"versions", "restore"> | InvalidRow>
}
