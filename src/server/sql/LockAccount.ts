import type { AccountId } from "../../domain/Account.ts"
import type { SqlClient } from "effect/sql"
import { traced } from "../telemetry/Traced.ts"

/** Locks an account against other changes until the transaction ends. Returns its revision, or undefined without the account. */
export const makeLockAccount = (sql: SqlClient.SqlClient) =>
  traced("lockAccount")(function* (accountId: AccountId) {
    const found = yield* sql<{ revision: bigint }>`
      SELECT revision FROM accounts WHERE account_id = ${accountId} FOR NO KEY UPDATE
    `
    return found[0] === undefined ? undefined : Number(found[0].revision)
  })

/**
 * How long a request waits for the lock of a bucket or key, which others hold for milliseconds. A queued request waits for
 * its turn and for the lock, each this long at most, so that it ends within three seconds.
 */
export const lockPatience = "1200ms"
