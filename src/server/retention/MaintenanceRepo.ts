import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import type { Unavailable } from "../../domain/Problem.ts"
import { refine } from "../sql/SqlFailure.ts"

/** What all instances together do once in a while. */
export type Task = "sweep" | "recount"

/** The SQL that lets one instance take each turn of a task. */
export class MaintenanceRepo extends Context.Service<
  MaintenanceRepo,
  {
    /** True for one of those that ask while the task is due: `minutes` after its last begin, sooner if that one broke off. */
    readonly claim: (task: Task, minutes: number) => Effect.Effect<boolean, Unavailable>
    readonly finish: (task: Task) => Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/retention/MaintenanceRepo") {
  static readonly layer = Layer.effect(
    MaintenanceRepo,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const claim = Effect.fn("MaintenanceRepo.claim")(function* (task: Task, minutes: number) {
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

      const finish = Effect.fn("MaintenanceRepo.finish")(function* (task: Task) {
        yield* sql`UPDATE maintenance SET finished_at = memory_now() WHERE task = ${task}`
      }, refine)

      return MaintenanceRepo.of({ claim, finish })
    })
  )
}
