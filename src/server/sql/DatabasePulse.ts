import { Context, Effect, type Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../domain/Problem.ts"

// Together under three seconds, which is what a caller waits at most for a database that is gone.
const firstCheck = 2200
const nextCheck = 1000
const probePatience = 600

/**
 * Tells a slow request from a dead database. Work goes on as long as the database answers a trivial statement; once it
 * does not (the network is stalled, the server is paused, every connection is taken), the work is given up.
 */
export class DatabasePulse extends Context.Service<
  DatabasePulse,
  {
    /** Fails with `Unavailable` in under 3 s when the database does not answer. What was begun ends in the background. */
    readonly guard: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Unavailable, R>
  }
>()("agent-memory/server/sql/DatabasePulse") {
  static readonly layer = Layer.effect(
    DatabasePulse,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const runFork = Effect.runForkWith(yield* Effect.context<never>())
      let probing: Promise<boolean> | undefined

      // One probe serves all that wait. It is not interrupted when it is late: on a frozen connection that would take
      // longer than anybody waits here.
      const probe = (): Promise<boolean> => {
        probing ??= new Promise<boolean>((resolve) => {
          const late = setTimeout(() => resolve(false), probePatience)
          runFork(Effect.exit(sql`SELECT 1 AS pulse`)).addObserver((exit) => {
            clearTimeout(late)
            resolve(exit._tag === "Success" && exit.value._tag === "Success")
          })
        }).finally(() => {
          probing = undefined
        })
        return probing
      }

      const guard = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
        Effect.contextWith((context: Context.Context<R>) =>
          Effect.callback<A, E | Unavailable>((resume) => {
            const fiber: Fiber.Fiber<A, E> = Effect.runForkWith(context)(effect)
            // A plain timer: every request passes here, and it seldom fires.
            let timer = setTimeout(check, firstCheck)
            let isOver = false
            async function check(): Promise<void> {
              const isAlive = await probe()
              if (isOver) return
              if (isAlive) {
                timer = setTimeout(check, nextCheck)
                return
              }
              // First the answer: an interruption may end the fiber at once, and would be the answer then.
              resume(
                Effect.andThen(
                  Effect.logWarning("The database does not answer"),
                  new Unavailable({ detail: "The database does not answer at the moment." })
                )
              )
              fiber.interruptUnsafe()
            }
            const end = () => {
              isOver = true
              clearTimeout(timer)
            }
            fiber.addObserver((exit) => {
              end()
              resume(exit)
            })
            return Effect.sync(() => {
              end()
              fiber.interruptUnsafe()
            })
          })
        )

      return DatabasePulse.of({ guard })
    })
  )
}
