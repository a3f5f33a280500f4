import { assert, describe, it } from "@effect/vitest"
import { Array, Cause, Deferred, Effect, Exit, Fiber, Logger, Scope } from "effect"
import { makeGroups } from "../../../src/server/sql/Groups.ts"

interface Sizes {
  readonly inFlight?: number
  readonly size?: number
  readonly weight?: number
}

/** Groups of numbers, each of which is on its way until it is let go, and is answered with its numbers as texts. */
const heldGroups = Effect.fnUntraced(function* ({ inFlight = 1, size = 100, weight = Infinity }: Sizes = {}) {
  const left: Array<ReadonlyArray<number>> = []
  const gates: Array<Deferred.Deferred<void, string>> = []
  const ask = yield* makeGroups<number, string, string>({
    inFlight,
    size,
    weight,
    weightOf: (item) => item,
    run: Effect.fnUntraced(function* (items) {
      const gate = yield* Deferred.make<void, string>()
      left.push(items)
      gates.push(gate)
      yield* Deferred.await(gate)
      return items.map((item) => (item < 0 ? Effect.fail(`not ${item}`) : Effect.succeed(String(item))))
    })
  })
  const untilLeft = (count: number) => Effect.repeat(Effect.yieldNow, { until: () => left.length >= count })
  const letGo = (index: number) => Deferred.succeed(gates[index]!, undefined)
  const askAll = (items: ReadonlyArray<number>) => Effect.forEach(items, (item) => Effect.forkChild(ask(item)))
  return { ask, askAll, gates, left, letGo, untilLeft }
})

describe("Groups", () => {
  it.effect("let one leave alone at once, and those of one moment together", () =>
    Effect.gen(function* () {
      const { askAll, left, letGo, untilLeft } = yield* heldGroups()
      const [lone] = yield* askAll([1])
      yield* untilLeft(1)
      yield* letGo(0)
      assert.strictEqual(yield* Fiber.join(lone!), "1")
      const together = yield* askAll([2, 3, 4])
      yield* untilLeft(2)
      yield* letGo(1)
      assert.deepStrictEqual(yield* Fiber.joinAll(together), ["2", "3", "4"])
      assert.deepStrictEqual(left, [[1], [2, 3, 4]])
    })
  )

  it.effect("gather whoever comes while as many are on their way as may be", () =>
    Effect.gen(function* () {
      const { askAll, left, letGo, untilLeft } = yield* heldGroups({ inFlight: 2 })
      yield* askAll([1])
      yield* untilLeft(1)
      yield* askAll([2])
      yield* untilLeft(2)
      const later = [...(yield* askAll([3, 4])), ...(yield* askAll([5]))]
      yield* Effect.repeat(Effect.yieldNow, { times: 20 })
      assert.deepStrictEqual(left, [[1], [2]])
      yield* letGo(1)
      yield* untilLeft(3)
      yield* letGo(2)
      assert.deepStrictEqual(yield* Fiber.joinAll(later), ["3", "4", "5"])
      assert.deepStrictEqual(left, [[1], [2], [3, 4, 5]])
    })
  )

  it.effect("hold no more items than their size, in order of arrival", () =>
    Effect.gen(function* () {
      const { askAll, left, letGo, untilLeft } = yield* heldGroups({ size: 3 })
      const all = yield* askAll(Array.range(1, 7))
      for (const index of [0, 1, 2]) {
        yield* untilLeft(index + 1)
        yield* letGo(index)
      }
      yield* Fiber.joinAll(all)
      assert.deepStrictEqual(left, [[1, 2, 3], [4, 5, 6], [7]])
    })
  )

  it.effect("weigh no more than they may, though a single heavier item goes alone", () =>
    Effect.gen(function* () {
      const { askAll, left, letGo, untilLeft } = yield* heldGroups({ weight: 10 })
      const all = yield* askAll([4, 6, 1, 50, 2])
      for (const index of [0, 1, 2, 3]) {
        yield* untilLeft(index + 1)
        yield* letGo(index)
      }
      yield* Fiber.joinAll(all)
      assert.deepStrictEqual(left, [[4, 6], [1], [50], [2]])
    })
  )

  it.effect("leave without whoever went away before", () =>
    Effect.gen(function* () {
      const { askAll, left, letGo, untilLeft } = yield* heldGroups()
      const [first] = yield* askAll([1])
      yield* untilLeft(1)
      const [gone, kept] = yield* askAll([2, 3])
      yield* Effect.repeat(Effect.yieldNow, { times: 5 })
      yield* Fiber.interrupt(gone!)
      yield* letGo(0)
      yield* untilLeft(2)
      yield* letGo(1)
      assert.deepStrictEqual(yield* Fiber.joinAll([first!, kept!]), ["1", "3"])
      assert.deepStrictEqual(left, [[1], [3]])
    })
  )

  it.effect("answer the others when somebody goes away on the way", () =>
    Effect.gen(function* () {
      const { askAll, letGo, untilLeft } = yield* heldGroups()
      const [gone, kept] = yield* askAll([1, 2])
      yield* untilLeft(1)
      yield* Fiber.interrupt(gone!)
      yield* letGo(0)
      assert.strictEqual(yield* Fiber.join(kept!), "2")
    })
  )

  it.effect("fail each of their items when they fail, and none of the next group's", () =>
    Effect.gen(function* () {
      const { askAll, gates, letGo, untilLeft } = yield* heldGroups()
      const failing = yield* askAll([1, 2])
      yield* untilLeft(1)
      const next = yield* askAll([3])
      yield* Deferred.fail(gates[0]!, "lost")
      for (const fiber of failing) assert.strictEqual(yield* Effect.flip(Fiber.join(fiber)), "lost")
      yield* untilLeft(2)
      yield* letGo(1)
      assert.deepStrictEqual(yield* Fiber.joinAll(next), ["3"])
    })
  )

  it.effect("fail one item alone", () =>
    Effect.gen(function* () {
      const { askAll, letGo, untilLeft } = yield* heldGroups()
      const [good, bad] = yield* askAll([1, -2])
      yield* untilLeft(1)
      yield* letGo(0)
      assert.strictEqual(yield* Fiber.join(good!), "1")
      assert.strictEqual(yield* Effect.flip(Fiber.join(bad!)), "not -2")
    })
  )

  it.effect("resume every caller, although what one goes on with throws, and log what is thrown", () =>
    Effect.gen(function* () {
      const logged: Array<unknown> = []
      const logger = Logger.make(({ cause }) => logged.push(Cause.squash(cause)))
      const { ask, letGo, untilLeft } = yield* heldGroups()
      const thrown = new Error("thrown by an observer")
      const run = Effect.runForkWith(yield* Effect.context<never>())
      const fibers = [1, 2, 3].map((item) => run(Effect.provide(ask(item), Logger.layer([logger]))))
      fibers[0]!.addObserver(() => {
        throw thrown
      })
      yield* untilLeft(1)
      yield* letGo(0)
      assert.deepStrictEqual(yield* Fiber.joinAll(fibers), ["1", "2", "3"])
      yield* Effect.repeat(Effect.yieldNow, { times: 5 })
      assert.deepStrictEqual(logged, [thrown])
    })
  )

  it.effect("interrupt whoever waits when their scope is closed", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { askAll, untilLeft } = yield* Scope.provide(heldGroups(), scope)
      const onTheWay = yield* askAll([1])
      yield* untilLeft(1)
      const waiting = yield* askAll([2])
      yield* Effect.repeat(Effect.yieldNow, { times: 5 })
      yield* Scope.close(scope, Exit.void)
      for (const fiber of [...onTheWay, ...waiting]) assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    })
  )
})
