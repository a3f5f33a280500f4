import { Context, Effect, Exit, type Fiber, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Unavailable } from "../../domain/Problem.ts"

// In milliseconds. Together under three seconds, the longest wait for a database that is gone.
const firstCheck = 2200
const nextCheck = 1000
const probeTimeout = 550
const lateAnswer = 50

/**
 * Distinguishes a slow request from a dead database. Work goes on while the database answers a trivial statement. Once it
 * does not (the network stalls, the server is paused, every connection is taken), the work is given up.
 */
export class DatabasePulse extends Context.Service<DatabasePulse>()("agent-memory/server/sql/DatabasePulse", {
  make: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const runFork = Effect.runForkWith(yield* Effect.context<never>())
    let probing: Promise<boolean> | undefined

    // Waiting requests share one probe. A late probe is not interrupted: on a frozen connection that takes even longer.
    const probe = (): Promise<boolean> => {
      probing ??= new Promise<boolean>((resolve) => {
        // Behind a long turn of this process, the timer is due before an answer that is there is read.
        let late = setTimeout(() => {
          late = setTimeout(() => resolve(false), lateAnswer)
        }, probeTimeout)
        runFork(Effect.exit(sql`SELECT 1 AS pulse`)).addObserver((exit) => {
          clearTimeout(late)
          resolve(exit._tag === "Success" && exit.value._tag === "Success")
        })
      }).finally(() => {
        probing = undefined
      })
      return probing
    }

    /** {@link guard} for a fiber that is running: `onEnd` gets its exit, or `Unavailable`. */
    const watch = <A, E>(fiber: Fiber.Fiber<A, E>, onEnd: (exit: Exit.Exit<A, E | Unavailable>) => void) => {
      // A plain timer, because every request sets one and it seldom fires.
      let timer = setTimeout(check, firstCheck)
      let hasEnded = false
      const end = (exit: Exit.Exit<A, E | Unavailable>) => {
        if (hasEnded) return
        hasEnded = true
        clearTimeout(timer)
        onEnd(exit)
      }
      async function check(): Promise<void> {
        const isAlive = await probe()
        if (hasEnded) return
        if (isAlive) {
          timer = setTimeout(check, nextCheck)
          return
        }
        Effect.runForkWith(fiber.context)(Effect.logWarning("The database does not answer"))
        // Before the interruption, which may end the fiber at once with its own exit.
        end(Exit.fail(new Unavailable({ detail: "The database is not responding at the moment." })))
        fiber.interruptUnsafe()
      }
      fiber.addObserver(end)
    }

    /** Fails with `Unavailable` within 3 s if the database does not respond. The work that was begun ends in the background. */
    const guard = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | Unavailable, R> =>
      Effect.withFiber(({ context }) =>
        Effect.callback<A, E | Unavailable>((resume) => {
          const fiber: Fiber.Fiber<A, E> = Effect.runForkWith(context as Context.Context<R>)(effect)
          watch(fiber, resume)
          return Effect.sync(() => fiber.interruptUnsafe())
        })
      )

    return { guard, watch }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
