import { Cause, Context, Duration, Effect, Layer, Random } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { refine } from "../sql/SqlFailure.ts"
import { traced } from "../telemetry/Traced.ts"
import { AccountDeletion } from "../accounts/AccountDeletion.ts"
import { Recount } from "./Recount.ts"
import { Sweeper } from "./Sweeper.ts"

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
