import { Cause, Context, Duration, Effect, Layer, Random } from "effect"
import type { Unavailable } from "../../domain/Problem.ts"
import { MaintenanceRepo, type Task } from "./MaintenanceRepo.ts"
import { Recount } from "./Recount.ts"
import { Sweeper } from "./Sweeper.ts"

/** When an instance looks for work: the first time, and from then on. Both vary by a fifth. */
export const MaintenanceTimes = Context.Reference<{ readonly first: Duration.Input; readonly every: Duration.Input }>(
  "agent-memory/server/retention/Maintenance/MaintenanceTimes",
  { defaultValue: () => ({ first: "1 minute", every: "5 minutes" }) }
)

const minutesBetween: Record<Task, number> = { sweep: 4, recount: 24 * 60 }

const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const repo = yield* MaintenanceRepo
    const sweeper = yield* Sweeper
    const recount = yield* Recount
    const times = yield* MaintenanceTimes

    const take = <A>(task: Task, work: Effect.Effect<A, Unavailable>) =>
      Effect.gen(function* () {
        if (!(yield* repo.claim(task, minutesBetween[task]))) return
        yield* work
        yield* repo.finish(task)
      }).pipe(
        Effect.catchCauseIf(
          (cause) => !Cause.hasInterrupts(cause),
          (cause) => Effect.logWarning("Background work broke off", { task }, cause)
        )
      )

    const wait = (time: Duration.Input) =>
      Effect.flatMap(Random.nextBetween(0.8, 1.2), (factor) =>
        Effect.sleep(Duration.times(Duration.fromInputUnsafe(time), factor))
      )

    yield* wait(times.first).pipe(
      Effect.andThen(
        Effect.forever(
          take("sweep", sweeper.sweep).pipe(
            Effect.andThen(take("recount", recount.run)),
            Effect.andThen(wait(times.every))
          )
        )
      ),
      Effect.forkScoped
    )
  })
)

/**
 * The background work of the service. It runs on every instance, and of all of them one takes each turn; a failure is
 * logged and tried again at the next turn. It delays neither start nor shutdown.
 */
export const Maintenance = {
  layer: Layer.provide(loop, [MaintenanceRepo.layer, Sweeper.layer, Recount.layer])
}
