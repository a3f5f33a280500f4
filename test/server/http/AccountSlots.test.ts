import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeAccountSlots } from "../../../src/server/http/AccountSlots.ts"

describe("A shared room", () => {
  it.effect("grants an account no more than its share, also when all is free", () =>
    Effect.gen(function* () {
      const { take } = makeAccountSlots({ total: 10, perAccount: 3, patience: "1 second" })
      yield* take("one", 3)
      const late = yield* Effect.forkChild(Effect.flip(take("one", 1)), { startImmediately: true })
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(late)).share, "account")
      yield* take("two", 3)
      yield* take("three", 3)
    })
  )

  it.effect("takes whoever wants more than a share for one that wants the share", () =>
    Effect.gen(function* () {
      const { take } = makeAccountSlots({ total: 6, perAccount: 3, patience: "1 second" })
      yield* take("one", 100)
      yield* take("two", 3)
    })
  )
})
