import { Effect } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import { Unauthenticated } from "../../domain/Problem.ts"
import type { SqlClient } from "effect/sql"
import { traced } from "../telemetry/Traced.ts"

/** The failure of a request whose account was deleted after it was admitted. */
export const accountGone = () => new Unauthenticated({ detail: "The account was deleted." })

/** The revision of an account that a statement has read, or its failure if there is no account. */
export const revisionOf = (
  found: ReadonlyArray<{ readonly revision: bigint }>
): Effect.Effect<number, Unauthenticated> =>
  found[0] === undefined ? Effect.fail(accountGone()) : Effect.succeed(Number(found[0].revision))

/**
 * Locks an account against other changes until the transaction ends. Returns its revision, or undefined without the account
 * or while it is being deleted.
 */
export const makeLockAccount = (sql: SqlClient.SqlClient) =>
  traced("lockAccount")(function* (accountId: AccountId) {
    const found = yield* sql<{ revision: bigint }>`
      SELECT revision FROM accounts WHERE account_id = ${accountId} AND closed_at IS NULL FOR NO KEY UPDATE
    `
    return found[0] === undefined ? undefined : Number(found[0].revision)
  })

/**
 * How long a request waits for the lock of a bucket or key, which others hold for milliseconds. A queued request waits for
 * its turn and for the lock, each this long at most, so that it ends within three seconds.
 */
export const lockPatience = "1200ms"
