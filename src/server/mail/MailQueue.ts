import { Context, Effect, FiberSet, Layer, Schedule, Semaphore } from "effect"
import { Unavailable } from "../../domain/Problem.ts"
import { Mailer, type Mail } from "./Mailer.ts"
import { traced } from "../telemetry/Traced.ts"

const parallel = 20
const pending = 1000

// About two minutes in all. A link is valid for ten.
const retries = Schedule.exponential("500 millis").pipe(Schedule.upTo({ times: 8 }))

/**
 * Sends mails in the background. Failures are logged, not returned to the caller. A mail is refused when a thousand are
 * waiting.
 */
export class MailQueue extends Context.Service<MailQueue>()("agent-memory/server/mail/MailQueue", {
  make: Effect.gen(function* () {
    const mailer = yield* Mailer
    const fibers = yield* FiberSet.make<void>()
    // Runs before the set's own finalizer, which interrupts the rest.
    yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(fibers).pipe(Effect.timeoutOption("3 seconds")))
    const permits = yield* Semaphore.make(parallel)

    const deliver = (mail: Mail) =>
      permits.withPermit(mailer.send(mail)).pipe(
        Effect.tapError(({ code }) => Effect.logWarning("A mail could not be sent", { code })),
        Effect.retry({ schedule: retries, while: (error) => !error.permanent }),
        Effect.catch(({ code }) => Effect.logError("A mail was given up", { code })),
        Effect.catchCause(() => Effect.logError("A mail was given up", { code: "defect" }))
      )

    /** Fails while no mail is accepted, before anything is spent for one. */
    const room = Effect.gen(function* () {
      if ((yield* FiberSet.size(fibers)) < pending) return
      yield* Effect.logError("A mail was refused", { code: "too many are waiting" })
      return yield* new Unavailable({ detail: "Too many emails are waiting to be sent. Nothing was sent." })
    })

    const offer = traced("MailQueue.offer")(function* (mail: Mail) {
      yield* room
      yield* FiberSet.run(fibers, deliver(mail))
    })

    return { room, offer }
  })
}) {
  static readonly layer = Layer.effect(this, this.make)
}
