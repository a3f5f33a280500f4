import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Fiber } from "effect"
import { makeMovableClock } from "../../src/testing/layerTest.ts"

const hour = 3_600_000

describe("MovableClock", () => {
  it.live("shows the time that it was moved to, on all of its faces", () =>
    Effect.gen(function* () {
      const { clock, setOffset } = makeMovableClock()
      const [millis, nanos, monotonic] = [
        clock.currentTimeMillisUnsafe(),
        clock.currentTimeNanosUnsafe(),
        clock.monotonicTimeNanosUnsafe()
      ]
      setOffset(hour)
      assert.isAtLeast((yield* clock.currentTimeMillis) - millis, hour)
      assert.isAtLeast(Number((yield* clock.currentTimeNanos) - nanos) / 1e6, hour)
      assert.isAtLeast(Number((yield* clock.monotonicTimeNanos) - monotonic) / 1e6, hour)
    })
  )

  it.live("wakes those whose time has come, and no others", () =>
    Effect.gen(function* () {
      const { clock, setOffset } = makeMovableClock()
      const woken: Array<string> = []
      const sleeper = (name: string, time: "1 hour" | "2 hours") =>
        Effect.andThen(
          Effect.sleep(time),
          Effect.sync(() => woken.push(name))
        ).pipe(Effect.provideService(Clock.Clock, clock), Effect.forkChild({ startImmediately: true }))
      const first = yield* sleeper("first", "1 hour")
      const second = yield* sleeper("second", "2 hours")
      setOffset(hour)
      yield* Fiber.join(first)
      assert.deepStrictEqual(woken, ["first"])
      setOffset(2 * hour)
      yield* Fiber.join(second)
      assert.deepStrictEqual(woken, ["first", "second"])
    })
  )

  it.live("sleeps in real time while nobody moves it", () =>
    Effect.gen(function* () {
      const { clock } = makeMovableClock()
      const before = performance.now()
      yield* Effect.provideService(Effect.sleep("30 millis"), Clock.Clock, clock)
      assert.isAtLeast(performance.now() - before, 28)
    })
  )
})
