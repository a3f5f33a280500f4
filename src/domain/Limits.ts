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

/** The rows that a query gives when `limit` is not said, and at most. */
export const defaultQueryLimit = 100
export const maxQueryLimit = 1000

/** The names that a natural key has at most. */
export const maxKeyNames = 32
