import { Data, type Effect, type Schema } from "effect"
import type { HttpApiClient, HttpApiEndpoint } from "effect/http-api"
import type { Api } from "../api/Api.ts"
import type * as Rows from "./RowTypes.ts"
import type { DeletedPage, DeletedQuery, Forgotten, Version } from "./AccountTypes.ts"

export interface IdempotencyOptions {
  /** As with the Promise client: without it each run of the effect makes a key of its own, which its tries share. */
  readonly idempotencyKey?: string | undefined
}

interface DeleteOptions extends IdempotencyOptions, Rows.Guarded, Rows.Search {
  /** Gives what would be deleted, and changes nothing. */
  readonly dryRun?: boolean | undefined
}

/** What an operation on rows gives; fails also for a row that the table's schema refuses. */
type RowEffect<A, Name extends keyof Groups["rows"]["endpoints"]> = Effect.Effect<
  A,
  FailureOf<"rows", Name> | InvalidRow
>

/**
 * One table. Rows are written and read as its schema has them (`Row`); filters, sorts, keys and patches speak of what is
 * stored (`Encoded`). Methods take and give what those of the Promise client do.
 */
export interface TableService<Row, Encoded = Row> {
  readonly name: string
  readonly add: (row: Row, options?: IdempotencyOptions) => RowEffect<Rows.Stored<Row>, "add">
  readonly query: <const Names extends Rows.Fields<Encoded> | undefined = undefined>(
    query?: Rows.Query<Encoded, Names>
  ) => RowEffect<Rows.QueryAnswer<Rows.Found<Encoded, Row, Names>>, "query">
  readonly count: (
    filter?: Rows.Filter<Encoded>,
    options?: Rows.Search
  ) => Effect.Effect<number, FailureOf<"rows", "count">>
  readonly summarize: (summarize: Rows.Summarize<Encoded>) => Effect.Effect<Rows.Summary, FailureOf<"rows", "count">>
  readonly upsert: (
    upsert: Rows.Upsert<Encoded, Row>,
    options?: IdempotencyOptions
  ) => RowEffect<Rows.UpsertAnswer<Rows.Stored<Row>>, "upsert">
  readonly updateRow: (
    update: Rows.UpdateRow<Encoded>,
    options?: IdempotencyOptions
  ) => RowEffect<Rows.Stored<Row>, "updateRow">
  readonly updateWhere: (
    update: Rows.UpdateWhere<Encoded>,
    options?: IdempotencyOptions
  ) => RowEffect<Rows.UpdateWhereAnswer<Rows.Stored<Row>>, "updateWhere">
  readonly delete: (
    rows: Rows.Filter<Encoded> | "all",
    options?: DeleteOptions
  ) => Effect.Effect<number, FailureOf<"rows", "delete">>
  readonly forget: (
    rows: Rows.Filter<Encoded> | "all",
    options?: DeleteOptions
  ) => Effect.Effect<Forgotten, FailureOf<"rows", "delete">>
  readonly batch: <const Operations extends ReadonlyArray<Rows.BatchOperation<unknown>>>(
    build: (batch: Rows.Batch<Encoded, Row, Row>) => Operations,
    options?: IdempotencyOptions
  ) => RowEffect<Rows.BatchResults<Operations>, "batch">
  readonly versions: (id: string) => Effect.Effect<ReadonlyArray<Version>, FailureOf<"versions", "list">>
  readonly deleted: (query?: DeletedQuery) => Effect.Effect<DeletedPage, FailureOf<"versions", "deleted">>
  readonly restore: (
    restore: Rows.Restore,
    options?: IdempotencyOptions
  ) => Effect.Effect<Rows.Stored<Row>, FailureOf<"versions", "restore"> | InvalidRow>
}

/** A row that its table's schema refuses: one to write, which has no id yet, or one that was read. */
export class InvalidRow extends Data.TaggedError("InvalidRow")<{
  readonly table: string
  readonly rowId: string | undefined
  readonly cause: Schema.SchemaError
}> {
  override get message(): string {
    const row = this.rowId === undefined ? "A row for" : `Row ${this.rowId} of`
    return `${row} table ${this.table} does not fit its schema: ${this.cause.message}`
  }
}

type Groups = (typeof Api)["groups"]

/**
 * What an operation of the contract can fail with: its own problems, by tag, and those of the connection. The names are
 * those of the contract's groups and endpoints: `FailureOf<"rows", "add">`.
 */
export type FailureOf<
  Group extends keyof Groups,
  Name extends keyof Groups[Group]["endpoints"]
> = Groups[Group]["endpoints"][Name] extends infer Endpoint extends HttpApiEndpoint.ConstraintRequest
  ? Effect.Error<HttpApiClient.Client.MethodReturn<Endpoint, never, never, "decoded-only", never>>
  : never
