/** The limits on what one account may hold (specification section 8). Bytes are of UTF-8. */
export interface Limits {
  readonly tables: number
  readonly rowsPerTable: number
  readonly storageBytes: number
  readonly rowBytes: number
  readonly batchOperations: number
  readonly versionsPerRow: number
  readonly versionDays: number
  readonly versionStorageBytes: number
  readonly idempotencyHours: number
  readonly idempotencyStorageBytes: number
}

/** What an account's two bounded archives hold, in bytes of UTF-8. */
export interface ArchiveBytes {
  readonly versionBytes: number
  readonly idempotencyBytes: number
}

/** An escape takes six characters for one byte, and what is no row is far below so many. */
const escapeLength = 6
const besideRows = 65_536

/** How long the text of a request about so many rows is at most, however each is spelled. */
export const longestRequest = (rows: number, rowBytes: number): number => rows * escapeLength * rowBytes + besideRows

/** The rows that a query gives when `limit` is not said, and at most. */
export const defaultQueryLimit = 100
export const maxQueryLimit = 1000

/** The names that a natural key has at most. */
export const maxKeyNames = 32
