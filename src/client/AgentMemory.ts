import type { CallOptions, DeleteOptions, ImportOptions, WriteOptions } from "./Options.ts"
import type * as Rows from "./RowTypes.ts"
import type * as Account from "./AccountTypes.ts"

/** An account of Agent Memory, as its API key opens it. Every method rejects with an `AgentMemoryError`. */
export interface AgentMemory {
  /**
   * One table; nothing is sent until one of its methods is called. The type of its rows is a promise of the caller's:
   * `memory.table<Task>("tasks")`. With a schema of any library that speaks Standard Schema each row is checked when it
   * is read, without the system fields: `memory.table("tasks", TaskSchema)`.
   */
  readonly table: {
    <Row extends object = Rows.AnyRow>(name: string): TableClient<Row>
    <Row extends object, Read extends object>(
      name: string,
      schema: Rows.StandardSchema<Row, Read>
    ): TableClient<Row, Read>
  }
  /** The tables with live rows or versions to restore, by name; `include: "fields"` adds their fields and types. */
  readonly tables: (options?: Account.Include & CallOptions) => Promise<ReadonlyArray<Account.Table>>
  /** The rows of all tables that have all of these words in their texts, last changed first. */
  readonly search: (words: string, options?: CallOptions) => Promise<Account.SearchAnswer>
  /** Every live row of the account by table, as one consistent snapshot. */
  readonly export: (options?: CallOptions) => Promise<Account.AccountRows>
  /**
   * The export as the service sends it, to be saved to a file as it is: `writeFile("memory.json", response.body)`.
   * `signal` and `timeout` hold until the answer begins; from then on, cancel its body.
   */
  readonly exportResponse: (options?: CallOptions) => Promise<Response>
  /** Adds an export's rows with their ids and times, all or none, as one write; `numbers: "text"` keeps all digits. */
  readonly import: (tables: Account.AccountRows, options?: ImportOptions) => Promise<Account.ImportAnswer>
  /** What the account holds and may hold, and what this key may still send. */
  readonly usage: (options?: CallOptions) => Promise<Account.Usage>
  /**
   * What writes did to rows, and by whom: newest first or, after the change that `since` names, oldest first. To follow an
   * account, read pages until `has_more` is false, keep the last `change`, and pass it as `since` next time.
   */
  readonly changes: (query?: Account.ChangeQuery, options?: CallOptions) => Promise<Account.ChangePage>
  /**
   * Takes back one whole write, named by its number, if none of its rows has changed since; else it rejects with
   * `changed_since`. With `dryRun` it resolves to what it would do.
   */
  readonly undo: (change: number, options?: ImportOptions) => Promise<Account.UndoAnswer>
  /**
   * Deletes the account with everything that it holds, for good. Its e-mail address confirms that it is meant. A try whose
   * answer was lost may have done it: then this rejects with `unauthenticated`, as the key is gone with the account.
   */
  readonly deleteAccount: (email: string, options?: CallOptions) => Promise<void>
  readonly links: Links
  readonly keys: Keys
  readonly connections: Connections
}

/**
 * Short-lived addresses for people. Anybody who has one can use it: hand it to nobody else. Their answers hold secrets,
 * so no idempotency key goes with them, and they are tried again only when certainly nothing was made.
 */
export interface Links {
  /** A page on which a person can see and edit one stored row, and an address to download it. */
  readonly row: (link: Account.RowLink, options?: CallOptions) => Promise<Account.CreatedLink>
  /** The same for one string field of a row; the row's other fields stay hidden. */
  readonly textField: (link: Account.TextFieldLink, options?: CallOptions) => Promise<Account.CreatedLink>
  /** A read-only page of the rows that match. The query runs each time it is opened. */
  readonly query: (link: Account.QueryLink, options?: CallOptions) => Promise<Account.CreatedLink>
}

/** The account's API keys. Create one named key per application and environment. */
export interface Keys {
  /** All keys, the oldest first, and those revoked of late: a request for each 1,000. */
  readonly list: (options?: CallOptions) => Promise<ReadonlyArray<Account.ApiKey>>
  /** One page of {@link Keys.list}. */
  readonly page: (query?: Account.KeyQuery, options?: CallOptions) => Promise<Account.KeyPage>
  /** Makes a key, with a name of 1 to 80 characters. Only this answer has `api_key`; it is tried again like a link. */
  readonly create: (name: string, options?: CallOptions) => Promise<Account.CreatedApiKey>
  /** Resolves to how many keys were revoked: 0 also where an earlier try, whose answer was lost, did it. */
  readonly revoke: (id: string, options?: CallOptions) => Promise<number>
}

/** The agents and other MCP clients that the account's owner let in. */
export interface Connections {
  readonly list: (options?: CallOptions) => Promise<ReadonlyArray<Account.Connection>>
  /** Resolves to how many connections were ended, like {@link Keys.revoke}. */
  readonly revoke: (id: string, options?: CallOptions) => Promise<number>
}

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
  readonly add: (row: Row, options?: WriteOptions) => Promise<Rows.Stored<Read>>
  /**
   * Reads the rows that match the filter, sorted by a field or in insertion order; 100 without a `limit`. Further pages
   * follow with the `next_cursor` of the one before.
   */
  readonly query: <const Names extends Rows.Fields<Row> | undefined = undefined>(
    query?: Rows.Query<Row, Names>,
    options?: CallOptions
  ) => Promise<Rows.QueryAnswer<Rows.Found<Row, Read, Names>>>
  /** Counts the rows that match the filter, or all. */
  readonly count: (filter?: Rows.Filter<Row>, options?: Rows.Search & CallOptions) => Promise<number>
  /**
   * Counts the rows that match and adds up their numbers, exactly, all of them or `by` the values of a field:
   * `expenses.summarize({ by: "category", sum: "amount" })`.
   */
  readonly summarize: (summarize: Rows.Summarize<Row>, options?: CallOptions) => Promise<Rows.Summary>
  /**
   * Replaces the row whose key fields have the same values, or adds the row. Fields that are left out are gone
   * afterwards: change some fields with `updateRow` or `updateWhere`.
   */
  readonly upsert: (upsert: Rows.Upsert<Row>, options?: WriteOptions) => Promise<Rows.UpsertAnswer<Rows.Stored<Read>>>
  /** Sets fields of the row with this id by a patch, or changes them in place by edits. It never creates a row. */
  readonly updateRow: (update: Rows.UpdateRow<Row>, options?: WriteOptions) => Promise<Rows.Stored<Read>>
  /** The same for the one row that matches a non-empty filter, a search or both, or for all that match with `allowMultiple`. */
  readonly updateWhere: (
    update: Rows.UpdateWhere<Row>,
    options?: WriteOptions
  ) => Promise<Rows.UpdateWhereAnswer<Rows.Stored<Read>>>
  /**
   * Deletes every row that matches a non-empty filter, or a `search`, beside which the filter may be empty, or all rows of the
   * table, archiving each. Resolves to how many there were.
   */
  readonly delete: (rows: Rows.Filter<Row> | "all", options?: DeleteOptions) => Promise<number>
  /**
   * Deletes rows for good, with all their versions: those that `delete` would delete, and also rows that had been deleted
   * before and match as they last were. Nothing of them can be restored. Try `dryRun` first.
   */
  readonly forget: (rows: Rows.Filter<Row> | "all", options?: DeleteOptions) => Promise<Account.Forgotten>
  /**
   * Carries out 1 to 100 operations, all or none; it counts as one write. Resolves to the result of each, in order, as
   * the method of its name gives it: `const [task, gone] = await tasks.batch((b) => [b.add(row), b.delete({ old: true })])`.
   */
  readonly batch: <const Operations extends ReadonlyArray<Rows.BatchOperation<unknown>>>(
    build: (batch: Rows.Batch<Row, Read>) => Operations,
    options?: WriteOptions
  ) => Promise<Rows.BatchResults<Operations>>
  /** The archived versions of a live or deleted row, newest first: the last 10, kept for 30 days. */
  readonly versions: (id: string, options?: CallOptions) => Promise<ReadonlyArray<Account.Version>>
  /** The rows that are deleted and can be restored, last deleted first, each as the version to restore. */
  readonly deleted: (query?: Account.DeletedQuery, options?: CallOptions) => Promise<Account.DeletedPage>
  /** Makes an archived version the live row again, recreating a deleted row. The current row is archived first. */
  readonly restore: (restore: Rows.Restore, options?: WriteOptions) => Promise<Rows.Stored<Read>>
}
