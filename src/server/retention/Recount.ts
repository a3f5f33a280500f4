import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Traced.ts"
import { SweepPace } from "./Sweeper.ts"

/** A counter that differs from what it counts. `table` is the table's name for a counter of rows. */
interface Drift {
  readonly account_id: AccountId
  readonly counter: "storage_bytes" | "version_bytes" | "idempotency_bytes" | "rows"
  readonly table?: string
  readonly recorded: number
  readonly counted: number
}

const maxReported = 1000

/**
 * Compares the counters of every account with the rows that they count. A difference is a defect of the service: it is logged
 * as an error and not corrected.
 */
export class Recount extends Context.Service<Recount>()("agent-memory/server/retention/Recount", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    /** The next account ids, in their order. */
    const accountsAfter = traced("Recount.accountsAfter")(function* (after: string, limit: number) {
      const found = yield* sql<{ account_id: AccountId }>`
        SELECT account_id FROM accounts WHERE account_id > ${after} AND closed_at IS NULL ORDER BY account_id LIMIT ${limit}
      `
      return found.map((row) => row.account_id)
    }, refine)

    /** The account's wrong counters, from one snapshot: a concurrent write is wholly in it or not at all. */
    const driftsOf = traced("Recount.driftsOf")(function* (accountId: AccountId) {
      const found = yield* sql<{
        counter: Drift["counter"]
        table_name: string | null
        recorded: bigint
        counted: bigint
      }>`
        WITH counters AS (
          SELECT c.counter, NULL::text AS table_name, c.recorded, c.counted
          FROM accounts a
          CROSS JOIN LATERAL (
            VALUES (
              'storage_bytes', a.storage_bytes,
              (SELECT coalesce(sum(octet_length(data)), 0) FROM rows WHERE account_id = ${accountId})
            ), (
              'version_bytes', a.version_bytes,
              (SELECT coalesce(sum(octet_length(data)), 0) FROM versions WHERE account_id = ${accountId})
            ), (
              'idempotency_bytes', a.idempotency_bytes,
              (SELECT coalesce(sum(octet_length(answer)), 0) FROM idempotency_records WHERE account_id = ${accountId})
            )
          ) AS c (counter, recorded, counted)
          WHERE a.account_id = ${accountId}
          UNION ALL
          SELECT 'rows', name, coalesce(t.rows, 0), coalesce(c.rows, 0)
          FROM (SELECT name, rows FROM tables WHERE account_id = ${accountId}) t
          FULL JOIN (
            SELECT table_name AS name, count(*) AS rows FROM rows WHERE account_id = ${accountId} GROUP BY table_name
          ) c USING (name)
        )
        SELECT counter, table_name, recorded::bigint AS recorded, counted::bigint AS counted
        FROM counters
        WHERE recorded <> counted
        ORDER BY counter, table_name
      `
      return found.map((row) => ({
        account_id: accountId,
        counter: row.counter,
        ...(row.table_name === null ? {} : { table: row.table_name }),
        recorded: Number(row.recorded),
        counted: Number(row.counted)
      }))
    }, refine)

    /** Counts accounts and wrong counters. `drifts` has the first thousand of `drifted`. */
    const run = Effect.gen(function* () {
      const pace = yield* SweepPace
      const drifts: Array<Drift> = []
      let accounts = 0
      let drifted = 0
      let after = ""
      while (true) {
        const page = yield* accountsAfter(after, pace.rows)
        for (const accountId of page) {
          const found = yield* driftsOf(accountId)
          yield* Effect.forEach(found, (drift) => Effect.logError("A counter drifted", drift), { discard: true })
          accounts++
          drifted += found.length
          drifts.push(...found.slice(0, maxReported - drifts.length))
        }
        if (page.length < pace.rows) break
        after = page.at(-1)!
        yield* Effect.sleep(pace.pause)
      }
      yield* drifted === 0
        ? Effect.logInfo("Recounted", { accounts, drifted })
        : Effect.logError("Recounted", { accounts, drifted })
      return { accounts, drifted, drifts }
    }).pipe(Effect.withSpan("Recount.run"))

    return { run }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
