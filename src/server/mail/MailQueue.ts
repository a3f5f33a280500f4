import { Context, Effect, FiberSet, Layer, Schedule, Semaphore } from "effect"
import { Unavailable } from "../../domain/Problem.ts"
import { Mailer, type Mail } from "./Mailer.ts"

const parallel = 20
const pending = 1000

// About two minutes in all: a link lives ten.
const patience = Schedule.exponential("500 millis").pipe(Schedule.upTo({ times: 8 }))

/**
 * Sends mails in the background: what becomes of one is logged, and no caller waits for it or learns of it. Only when a
 * thousand are waiting is the next one refused.
 */
export class MailQueue extends Context.Service<
  MailQueue,
  {
    /** Fails while no mail is taken, so that nothing need be spent for one. */
    readonly room: Effect.Effect<void, Unavailable>
    readonly offer: (mail: Mail) => Effect.Effect<void, Unavailable>
  }
>()("agent-memory/server/mail/MailQueue") {
  static readonly layer = Layer.effect(
    MailQueue,
    Effect.gen(function* () {
      const mailer = yield* Mailer
      const fibers = yield* FiberSet.make<void>()
      // Runs before the set's own finalizer, which interrupts what is left.
      yield* Effect.addFinalizer(() => FiberSet.awaitEmpty(fibers).pipe(Effect.timeoutOption("3 seconds")))
      const permits = yield* Semaphore.make(parallel)

      const deliver = (mail: Mail) =>
        permits.withPermit(mailer.send(mail)).pipe(
          Effect.tapError(({ code }) => Effect.logWarning("A mail could not be sent", { code })),
          Effect.retry({ schedule: patience, while: (error) => !error.permanent }),
          Effect.catch(({ code }) => Effect.logError("A mail was given up", { code })),
          Effect.catchCause(() => Effect.logError("A mail was given up", { code: "defect" }))
        )

      const room = Effect.gen(function* () {
        if ((yield* FiberSet.size(fibers)) < pending) return
        yield* Effect.logError("A mail was refused", { code: "too many are waiting" })
        return yield* new Unavailable({ detail: "Too many mails are waiting to be sent. Nothing was sent." })
      })

      const offer = Effect.fn("MailQueue.offer")(function* (mail: Mail) {
        yield* room
        yield* FiberSet.run(fibers, deliver(mail))
      })

      return MailQueue.of({ room, offer })
    })
  )
}
