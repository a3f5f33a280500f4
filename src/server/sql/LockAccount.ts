import { Effect } from "effect"
import type { SqlClient } from "effect/sql"

/** Makes the account's other changes wait until the transaction ends; gives its revision, or none for no account. */
export const makeLockAccount = (sql: SqlClient.SqlClient) =>
  Effect.fn("lockAccount")(function* (accountId: string) {
    const found = yield* sql<{ revision: bigint }>`
      SELECT revision FROM accounts WHERE account_id = ${accountId} FOR NO KEY UPDATE
    `
    return found[0] === undefined ? undefined : Number(found[0].revision)
  })
