import { PgTypes } from "@effect/sql-pg"
import { Result, Effect } from "effect"
import type { AccountId } from "../../domain/Account.ts"
import { JsonText } from "../../domain/json/JsonText.ts"
import { Unauthenticated } from "../../domain/Problem.ts"
import type { Row } from "../../domain/Row.ts"
import type { SqlClient, Statement } from "effect/sql"
import { traced } from "../telemetry/Telemetry.ts"
import { refine } from "./SqlFailure.ts"

// With the type of its elements in the parameter a statement is prepared once for all values.
const array = (oid: number) => (values: ReadonlyArray<unknown>) => Result.getOrThrow(PgTypes.array(values, oid))

/** Array parameters of statements on many rows, by element type. */
export const texts: (values: ReadonlyArray<string | null>) => PgTypes.Parameter = array(PgTypes.OID.text)
export const integers: (values: ReadonlyArray<number | null>) => PgTypes.Parameter = array(PgTypes.OID.int4)
export const binaries: (values: ReadonlyArray<Uint8Array | null>) => PgTypes.Parameter = array(PgTypes.OID.bytea)
export const times: (milliseconds: ReadonlyArray<number | null>) => PgTypes.Parameter = array(PgTypes.OID.timestamptz)
export const bigints = (values: ReadonlyArray<number | null>): PgTypes.Parameter =>
  array(PgTypes.OID.int8)(values.map((value) => (value === null ? null : BigInt(value))))
/** A text to look for that may have any character: no stored one has what stands for NUL, which PostgreSQL does not take. */
export const withoutNul = (text: string): string => text.replaceAll("\0", "\ufffd")

export const bigint = (value: number): PgTypes.Parameter => PgTypes.int8(BigInt(value))
export const time = (milliseconds: number): PgTypes.Parameter => PgTypes.timestamptz(milliseconds)

/** The failure of a request whose account was deleted after it was admitted. */
export const accountGone = () => new Unauthenticated({ detail: "The account was deleted." })

/** What a statement found that joins items to an account, and the account's revision; fails if there is no account. */
export const foundAt = <Found extends { readonly revision: bigint; readonly id: string | null }, A>(
  found: ReadonlyArray<Found>,
  make: (found: Found & { readonly id: string }) => A
): Effect.Effect<{ readonly revision: number; readonly found: ReadonlyArray<A> }, Unauthenticated> => {
  if (found[0] === undefined) return Effect.fail(accountGone())
  const isItem = (one: Found): one is Found & { readonly id: string } => one.id !== null
  return Effect.succeed({ revision: Number(found[0].revision), found: found.filter(isItem).map(make) })
}

/** A row's columns that make a {@link Row}. */
export interface StoredRow {
  readonly id: string
  readonly created_at: Date
  readonly updated_at: Date
  readonly data: string
}

export const rowOf = ({ created_at, data, id, updated_at }: StoredRow): Row => ({
  id,
  createdAt: created_at.getTime(),
  updatedAt: updated_at.getTime(),
  data: JsonText.trusted(data)
})

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

/** What is pruned: the rows of a table that are due, by the columns of its primary key. */
interface Pruned {
  readonly table: string
  readonly key: string
  readonly due: Statement.Fragment
  /** The column that says how long a row has been due, if the oldest are removed first. */
  readonly oldest?: string
}

/**
 * Makes the function that removes at most `rows` rows that are due, and returns how many. It waits for rows that others have
 * locked, and keeps those that are no longer due then.
 */
export const makePrune = (sql: SqlClient.SqlClient, name: string, { due, key, oldest, table }: Pruned) =>
  traced(`${name}.prune`)(function* (rows: number) {
    const order = oldest === undefined ? "" : `ORDER BY ${oldest}`
    const [columns, source, ordered] = [sql.literal(key), sql(table), sql.literal(order)]
    // Materialized: a plan that ran the subquery again could remove more rows.
    const removed = yield* sql<{ count: number }>`
      WITH due AS MATERIALIZED (
        SELECT ${columns} FROM ${source} WHERE ${due} ${ordered} LIMIT ${rows}
      ), removed AS (
        DELETE FROM ${source} WHERE (${columns}) IN (SELECT ${columns} FROM due) AND (${due}) RETURNING 1
      )
      SELECT count(*)::integer AS count FROM removed
    `
    return removed[0]!.count
  }, refine)
