import type { Batch, BatchOperation, BatchResults } from "./Batch.ts"
import type { CallOptions, WriteOptions } from "./Options.ts"
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
} from "./Types.ts"

/**
 * One table. `Row` is what is written, `Read` what reading gives; they differ only where the table's schema transforms.
 * Each method takes the body that the REST interface takes, or its only member, and likewise resolves to the answer or
 * its only member. Every method rejects with an `AgentMemoryError`, or with the reason of the caller's own signal.
 *
 * Writes are repeated safely: all tries of a call share one idempotency key. A row that was stored but does not fit the
 * schema rejects with the code `invalid_row`; the write took place.
 */
export interface TableClient<Row, Read = Row> {
  readonly name: string
  /** Adds a row. Use it when each event should create a new row. */
  readonly add: (row: Row, options?: WriteOptions) => Promise<Stored<Read>>
  /** Reads the rows that match the filter, sorted by a field or in insertion order; 100 without a `limit`. */
  readonly query: (query?: Query<Row>, options?: CallOptions) => Promise<QueryAnswer<Stored<Read>>>
  /** Counts the rows that match the filter, or all. */
  readonly count: (filter?: Filter<Row>, options?: CallOptions) => Promise<number>
  /**
   * Replaces the row whose key fields have the same values, or adds the row. Fields that are left out are gone
   * afterwards: change some fields with `updateRow` or `updateWhere`.
   */
  readonly upsert: (upsert: Upsert<Row>, options?: WriteOptions) => Promise<UpsertAnswer<Stored<Read>>>
  /** Sets fields of the row with this id. It never creates a row. */
  readonly updateRow: (update: UpdateRow<Row>, options?: WriteOptions) => Promise<Stored<Read>>
  /** Sets fields of the one row that matches a non-empty filter, or of all that match with `allowMultiple`. */
  readonly updateWhere: (update: UpdateWhere<Row>, options?: WriteOptions) => Promise<UpdateWhereAnswer<Stored<Read>>>
  /** Deletes every row that matches a non-empty filter, archiving each. Resolves to how many there were. */
  readonly delete: (filter: Filter<Row>, options?: WriteOptions) => Promise<number>
  /**
   * Carries out 1 to 100 operations, all or none; it counts as one write. Resolves to the result of each, in order, as
   * the method of its name gives it: `const [task, gone] = await tasks.batch((b) => [b.add(row), b.delete({ old: true })])`.
   */
  readonly batch: <const Operations extends ReadonlyArray<BatchOperation<unknown>>>(
    build: (batch: Batch<Row, Read>) => Operations,
    options?: WriteOptions
  ) => Promise<BatchResults<Operations>>
  /** The archived versions of a live or deleted row, newest first: the last 10, kept for 30 days. */
  readonly versions: (id: string, options?: CallOptions) => Promise<ReadonlyArray<Version>>
  /** Makes an archived version the live row again, recreating a deleted row. The current row is archived first. */
  readonly restore: (restore: Restore, options?: WriteOptions) => Promise<Stored<Read>>
}
