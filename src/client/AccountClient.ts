import type { CallOptions, ImportOptions } from "./Options.ts"
import type { StandardSchema } from "./StandardSchema.ts"
import type { TableClient } from "./TableClient.ts"
import type {
  AccountRows,
  AnyRow,
  ApiKey,
  Connection,
  CreatedApiKey,
  CreatedLink,
  ImportAnswer,
  KeyPage,
  KeyQuery,
  QueryLink,
  RowLink,
  Table,
  TextFieldLink,
  Usage
} from "./Types.ts"

/** An account of Agent Memory, as its API key opens it. Every method rejects with an `AgentMemoryError`. */
export interface AgentMemory {
  /**
   * One table; nothing is sent until one of its methods is called. The type of its rows is a promise of the caller's:
   * `memory.table<Task>("tasks")`. With a schema of any library that speaks Standard Schema each row is checked when it
   * is read, without the system fields: `memory.table("tasks", TaskSchema)`.
   */
  readonly table: {
    <Row extends object = AnyRow>(name: string): TableClient<Row>
    <Row extends object, Read extends object>(name: string, schema: StandardSchema<Row, Read>): TableClient<Row, Read>
  }
  /** The tables that have live rows or versions to restore, by name. */
  readonly tables: (options?: CallOptions) => Promise<ReadonlyArray<Table>>
  /** Every live row of the account by table, as one consistent snapshot. */
  readonly export: (options?: CallOptions) => Promise<AccountRows>
  /**
   * The export as the service sends it, to be saved to a file as it is: `writeFile("memory.json", response.body)`.
   * `signal` and `timeout` hold until the answer begins; from then on, cancel its body.
   */
  readonly exportResponse: (options?: CallOptions) => Promise<Response>
  /**
   * Adds the rows of an export with their ids and times, all or none; it counts as one write. Read the export with
   * `numbers: "text"` where every digit matters.
   */
  readonly import: (tables: AccountRows, options?: ImportOptions) => Promise<ImportAnswer>
  /** What the account holds and may hold, and what this key may still send. */
  readonly usage: (options?: CallOptions) => Promise<Usage>
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
  readonly row: (link: RowLink, options?: CallOptions) => Promise<CreatedLink>
  /** The same for one string field of a row; the row's other fields stay hidden. */
  readonly textField: (link: TextFieldLink, options?: CallOptions) => Promise<CreatedLink>
  /** A read-only page of the rows that match. The query runs each time it is opened. */
  readonly query: (link: QueryLink, options?: CallOptions) => Promise<CreatedLink>
}

/** The account's API keys. Create one named key per application and environment. */
export interface Keys {
  /** All keys, the oldest first, and those revoked of late: a request for each 1,000. */
  readonly list: (options?: CallOptions) => Promise<ReadonlyArray<ApiKey>>
  /** One page of {@link Keys.list}. */
  readonly page: (query?: KeyQuery, options?: CallOptions) => Promise<KeyPage>
  /**
   * Makes a key with a name of 1 to 80 characters; `api_key` is shown in this answer only. Like a link, it is tried again
   * only when certainly nothing was made.
   */
  readonly create: (name: string, options?: CallOptions) => Promise<CreatedApiKey>
  /** Resolves to how many keys were revoked: 0 also where an earlier try, whose answer was lost, did it. */
  readonly revoke: (id: string, options?: CallOptions) => Promise<number>
}

/** The agents and other MCP clients that the account's owner let in. */
export interface Connections {
  readonly list: (options?: CallOptions) => Promise<ReadonlyArray<Connection>>
  /** Resolves to how many connections were ended, like {@link Keys.revoke}. */
  readonly revoke: (id: string, options?: CallOptions) => Promise<number>
}
