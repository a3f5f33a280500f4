import { assert, describe, it } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import { MailError, Mailer, MailQueue } from "../../../src/server/mail/Mailer.ts"
import { mail } from "./Smtp.ts"
import { withLog } from "./WithLog.ts"

describe("MailQueue", () => {
  const queueWith = (send: (attempt: number) => Effect.Effect<void, MailError>) => {
    let attempt = 0
    return MailQueue.layer.pipe(
      Layer.fresh,
      Layer.provide(Layer.succeed(Mailer, Mailer.of({ send: () => Effect.suspend(() => send(++attempt)) })))
    )
  }

  it.effect("tries again for a while, logs no address and no text, and then gives up", () =>
    Effect.gen(function* () {
      let attempts = 0
      const { log } = yield* withLog(
        Effect.gen(function* () {
          const queue = yield* Layer.build(
            queueWith((attempt) => {
              attempts = attempt
              return Effect.fail(new MailError({ code: "ECONNREFUSED", permanent: false }))
            })
          ).pipe(Effect.map(Context.get(MailQueue)))
          yield* queue.offer(mail)
          yield* TestClock.adjust("10 minutes")
        })
      )
      assert.strictEqual(attempts, 9)
      assert.include(log, "ECONNREFUSED")
      assert.include(log, "given up")
      assert.notMatch(log, /ada|Plain|Hello/)
    })
  )

  it.live("refuses the mail after a thousand that wait, and takes the next when one is gone", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      let begun = 0
      const queue = yield* Layer.build(
        queueWith((attempt) => {
          begun = attempt
          return attempt === 1 ? Deferred.await(gate) : Effect.never
        })
      ).pipe(Effect.map(Context.get(MailQueue)))
      for (let n = 0; n < 1000; n++) yield* queue.offer(mail)
      const { log } = yield* withLog(
        Effect.gen(function* () {
          for (const refused of [queue.room, queue.offer(mail)]) {
            assert.deepInclude(yield* Effect.flip(refused), { code: "unavailable", status: 503 })
          }
        })
      )
      assert.include(log, "too many are waiting")
      assert.strictEqual(begun, 20)
      yield* Deferred.succeed(gate, undefined)
      while (Exit.isFailure(yield* Effect.exit(queue.room))) yield* Effect.yieldNow
      yield* queue.offer(mail)
    }).pipe(Effect.scoped)
  )

  it.effect("does not repeat what can't succeed", () =>
    Effect.gen(function* () {
      let attempts = 0
      yield* withLog(
        Effect.gen(function* () {
          const queue = yield* Layer.build(
            queueWith((attempt) => {
              attempts = attempt
              return Effect.fail(new MailError({ code: "550", permanent: true }))
            })
          ).pipe(Effect.map(Context.get(MailQueue)))
          yield* queue.offer(mail)
          yield* TestClock.adjust("10 minutes")
        })
      )
      assert.strictEqual(attempts, 1)
    })
  )

  it.live("gives a mail that is being sent a moment when the service stops", () =>
    Effect.gen(function* () {
      let delivered = false
      const scope = yield* Scope.make()
      const queue = yield* Layer.buildWithScope(
        queueWith(() => Effect.sleep("200 millis").pipe(Effect.andThen(Effect.sync(() => (delivered = true))))),
        scope
      ).pipe(Effect.map(Context.get(MailQueue)))
      yield* queue.offer(mail)
      yield* Scope.close(scope, Exit.void)
      assert.isTrue(delivered)
    })
  )

  it.effect("does not wait longer than a moment", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const queue = yield* Layer.buildWithScope(
        queueWith(() => Effect.never),
        scope
      ).pipe(Effect.map(Context.get(MailQueue)))
      yield* queue.offer(mail)
      const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(closing)
    })
  )
})
