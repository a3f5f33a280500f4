import { Context, Effect, Layer, Cause, Duration, Random } from "effect"
import { SqlClient } from "effect/sql"
import type { AccountId } from "../../domain/Account.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { SweepPace, Sweeper } from "./Sweeper.ts"
import type { Unavailable } from "../../domain/Problem.ts"
import { AccountDeletion } from "../accounts/AccountDeletion.ts"

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
export class Recount extends Context.Service<Recount>()("agent-memory/server/retention/Maintenance/Recount", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

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
      return found.map(({ counted, counter, recorded, table_name }): Drift => ({
        account_id: accountId,
        counter,
        ...(table_name !== null && { table: table_name }),
        recorded: Number(recorded),
        counted: Number(counted)
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
      yield* Effect.logWithLevel(drifted === 0 ? "Info" : "Error")("Recounted", { accounts, drifted })
      return { accounts, drifted, drifts }
    }).pipe(Effect.withSpan("Recount.run"))

    return { run }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}

type Task = "sweep" | "recount" | "deletions"

/** When an instance looks for work: after `first`, then after every `every`. Both vary by a fifth. */
export const MaintenanceTimes = Context.Reference<{ readonly first: Duration.Input; readonly every: Duration.Input }>(
  "agent-memory/server/retention/Maintenance/MaintenanceTimes",
  { defaultValue: () => ({ first: "1 minute", every: "5 minutes" }) }
)

const minutesBetween: Record<Task, number> = { sweep: 4, recount: 24 * 60, deletions: 4 }

/**
 * The service's background work. Every instance runs it, and one of them takes each turn. A failure is logged, and the task
 * is tried again at the next turn. It delays neither start nor shutdown.
 */
export class Maintenance extends Context.Service<Maintenance>()("agent-memory/server/retention/Maintenance", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const sweeper = yield* Sweeper
    const recount = yield* Recount
    const deletion = yield* AccountDeletion
    const times = yield* MaintenanceTimes

    /** True for one of the instances that ask while the task is due: `minutes` after its last start, or if that never ended. */
    const claim = traced("Maintenance.claim")(function* (task: Task, minutes: number) {
      const claimed = yield* sql`
        INSERT INTO maintenance AS m (task, started_at)
        VALUES (${task}, memory_now())
        ON CONFLICT (task) DO UPDATE SET started_at = excluded.started_at, finished_at = NULL
        WHERE m.started_at <= excluded.started_at - make_interval(mins => ${minutes}::integer)
          OR (m.finished_at IS NULL AND m.started_at <= excluded.started_at - interval '6 hours')
          OR m.started_at > excluded.started_at
        RETURNING task
      `
      return claimed.length > 0
    }, refine)

    const finish = traced("Maintenance.finish")(function* (task: Task) {
      yield* sql`UPDATE maintenance SET finished_at = memory_now() WHERE task = ${task}`
    }, refine)

    const logged = <A>(task: string, work: Effect.Effect<A, Unavailable>) =>
      Effect.catchCauseIf(
        work,
        (cause) => !Cause.hasInterrupts(cause),
        (cause) => Effect.logWarning("Background work failed", { task }, cause)
      )

    const take = <A>(task: Task, work: Effect.Effect<A, Unavailable>) =>
      logged(
        task,
        Effect.gen(function* () {
          if (!(yield* claim(task, minutesBetween[task]))) return
          yield* work
          yield* finish(task)
        })
      )

    const wait = (time: Duration.Input) =>
      Effect.flatMap(Random.nextBetween(0.8, 1.2), (factor) =>
        Effect.sleep(Duration.times(Duration.fromInputUnsafe(time), factor))
      )

    // What is in memory is each instance's own.
    const turn = Effect.all(
      [
        logged("memory", deletion.forgetGone),
        take("deletions", deletion.resume),
        take("sweep", sweeper.sweep),
        take("recount", recount.run)
      ],
      { discard: true }
    )
    yield* wait(times.first).pipe(
      Effect.andThen(Effect.forever(Effect.andThen(turn, wait(times.every)))),
      Effect.forkScoped
    )
    return { claim, finish }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
