import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeRoom, type Room } from "../../../src/server/capacity/Room.ts"

const make = (total: number, perAccount: number) => makeRoom({ total, perAccount, patience: "10 seconds" })

/** What there is at once, given back when `end` runs; undefined where it would have to wait. */
const begun = Effect.fnUntraced(function* <A, E>(taking: Effect.Effect<A, E, Scope.Scope>) {
  const scope = yield* Scope.make()
  const fiber = yield* Effect.forkChild(Scope.provide(taking, scope), { startImmediately: true })
  return { fiber, isGranted: () => fiber.pollUnsafe() !== undefined, end: Scope.close(scope, Exit.void) }
})

/** How much another account could have at once. */
const leftFor = (room: Room, most: number): number => {
  let left = most
  while (left > 0 && room.lacks("another", left) !== undefined) left--
  return left
}

describe("A shared room", () => {
  it.effect("never grants more than an account's share, also when all is free", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const all = yield* Effect.forEach(Array.from({ length: 9 }), () => begun(room.take("one", 10)))
      assert.deepStrictEqual(
        all.map(({ isGranted }) => isGranted()),
        [true, true, true, false, false, false, false, false, false]
      )
      yield* all[1]!.end
      assert.isTrue(all[3]!.isGranted())
      assert.isFalse(all[4]!.isGranted())
    })
  )

  it.effect("gives one request that asks for more than a share the whole share", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const all = yield* begun(room.take("one", 1000))
      assert.isTrue(all.isGranted())
      assert.isFalse((yield* begun(room.take("one", 1))).isGranted())
      assert.isTrue((yield* begun(room.take("two", 30))).isGranted())
    })
  )

  it.effect("leaves some for the next account, however many take as much as they get", () =>
    Effect.gen(function* () {
      const room = make(1000, 400)
      for (let account = 0; account < 6; account++) {
        for (let times = 0; times < 400; times++) yield* begun(room.take(`greedy ${account}`, 1))
      }
      assert.isTrue((yield* begun(room.take("next", 1))).isGranted())
    })
  )

  it.effect("lets an account use as much as it leaves free, and no more", () =>
    Effect.gen(function* () {
      const room = make(100, 60)
      assert.isTrue((yield* begun(room.take("one", 50))).isGranted())
      assert.isFalse((yield* begun(room.take("one", 1))).isGranted())
    })
  )

  it.effect("of things that are counted gives all, the last one to whoever has none, and no more", () =>
    Effect.gen(function* () {
      const room = make(10, 2)
      for (const account of ["a", "a", "b", "b", "c", "c", "d", "d", "e"]) {
        assert.isTrue((yield* begun(room.take(account, 1))).isGranted())
      }
      assert.deepStrictEqual([room.lacks("e", 1)?.share, room.lacks("f", 1)], ["service", undefined])
      const second = yield* begun(room.take("e", 1))
      assert.isFalse(second.isGranted())
      const last = yield* begun(room.take("f", 1))
      assert.isTrue(last.isGranted())
      assert.isFalse((yield* begun(room.take("g", 1))).isGranted())
      assert.strictEqual(room.lacks("g", 1)?.share, "service")
    })
  )

  it.effect("serves other accounts while one waits for its own share", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const first = yield* begun(room.take("one", 30))
      const waits = yield* begun(room.take("one", 30))
      assert.isTrue((yield* begun(room.take("two", 30))).isGranted())
      assert.isFalse(waits.isGranted())
      yield* first.end
      assert.isTrue(waits.isGranted())
    })
  )

  it.effect("serves the requests of one account in order, also where a later one would fit", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const first = yield* begun(room.take("one", 20))
      const large = yield* begun(room.take("one", 30))
      const small = yield* begun(room.take("one", 5))
      assert.isFalse(small.isGranted())
      yield* first.end
      assert.isTrue(large.isGranted())
      assert.isFalse(small.isGranted())
      yield* large.end
      assert.isTrue(small.isGranted())
    })
  )

  it.effect("refuses whoever waited too long, and says whose share was used up", () =>
    Effect.gen(function* () {
      const room = make(40, 30)
      yield* begun(room.take("one", 20))
      const own = yield* begun(Effect.flip(room.take("one", 20)))
      const service = yield* begun(Effect.flip(room.take("two", 30)))
      yield* TestClock.adjust("9 seconds")
      assert.isFalse(own.isGranted())
      yield* TestClock.adjust("2 seconds")
      const shares = [(yield* Fiber.join(own.fiber)).share, (yield* Fiber.join(service.fiber)).share]
      assert.deepStrictEqual(shares, ["account", "service"])
    })
  )

  it.effect("forgets whoever stops waiting", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const first = yield* begun(room.take("one", 30))
      const gone = yield* begun(room.take("one", 30))
      yield* Fiber.interrupt(gone.fiber)
      yield* gone.end
      yield* first.end
      assert.isTrue((yield* begun(room.take("one", 30))).isGranted())
    })
  )

  it.effect("is used for as much as a claim has grown to, and no more", () =>
    Effect.gen(function* () {
      const room = make(60, 30)
      const { fiber } = yield* begun(room.claim("one", 30))
      const holding = yield* Fiber.join(fiber)
      assert.strictEqual(leftFor(room, 30), 30)
      yield* holding.grow(10)
      yield* holding.grow(20)
      assert.strictEqual(leftFor(room, 30), 20)
      assert.isFalse((yield* begun(room.take("one", 5))).isGranted())
      yield* holding.shrink(15)
      assert.strictEqual(leftFor(room, 30), 20, "what the waiting one took was given back")
    })
  )

  it.effect("lets the oldest of those that are half there go on, so that none wait for one another", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const names = ["a", "b", "c", "d", "e", "f"]
      const claims = yield* Effect.forEach(names, (name) => begun(room.claim(name, 30)))
      const holdings = yield* Effect.forEach(claims, ({ fiber }) => Fiber.join(fiber))
      for (const amount of [10, 14]) {
        yield* Effect.forEach(holdings, (holding) => begun(holding.grow(amount)))
      }
      const whole = yield* Effect.forEach(holdings, (holding) => begun(holding.grow(30)))
      assert.deepStrictEqual(
        whole.map(({ isGranted }) => isGranted()),
        [true, false, false, false, false, false]
      )
      for (const [index, { end }] of claims.entries()) {
        assert.isTrue(whole[index]!.isGranted())
        yield* end
      }
      for (const name of ["a", "b"]) assert.isTrue((yield* begun(room.take(name, 30))).isGranted())
    })
  )

  it.effect("counts what is there already beyond the share too, and lets nothing more in until it is gone", () =>
    Effect.gen(function* () {
      const room = make(100, 30)
      const sent = yield* begun(room.count("one", 40))
      assert.isTrue(sent.isGranted())
      const waits = yield* begun(room.take("one", 1))
      assert.isFalse(waits.isGranted())
      yield* sent.end
      assert.isTrue(waits.isGranted())
    })
  )
})
