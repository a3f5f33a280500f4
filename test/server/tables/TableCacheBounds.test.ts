import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Metric } from "effect"
import { AccountId } from "../../../src/domain/Account.ts"
import { parseSort } from "../../../src/domain/Query.ts"
import { atOnce, cachedRow } from "../../support/CachedRows.ts"
import { fork, metrics, mib, setUp, setUpLoaded } from "../../support/CacheUnderTest.ts"
import { liveBytes } from "../../support/LiveHeap.ts"

describe("Tables in memory", () => {
  it.effect("are not kept where they are too large, which is asked once for many reads", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp()
      const long = "x".repeat(mib)
      const rows = Array.from({ length: 4 }, (_, index) => cachedRow(index + 1, `{"a":"${long}"}`))
      database.commit({ t: { stored: rows } })
      for (let n = 0; n < 4; n++) assert.isUndefined(yield* read("t"))
      cache.committed(AccountId.make("a"), ...database.commit({ t: { stored: [cachedRow(5)] } }))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(database.asked(), ["load t"])
      cache.committed(AccountId.make("a"), ...database.commit({ t: { removed: rows.slice(1) } }))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(yield* read("t"), [1, 5])
      // It grows beyond what is kept; text may take twice its bytes.
      for (let n = 6; n < 15; n++)
        cache.committed(AccountId.make("a"), ...database.commit({ t: { stored: [cachedRow(n, `{"a":"${long}"}`)] } }))
      assert.isUndefined(yield* read("t"))
      assert.isBelow((yield* metrics).bytes, mib)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("make room for one another, those of the account that was read last staying the longest", () =>
    Effect.gen(function* () {
      const { at, database, read } = yield* setUp(4 * mib)
      const accounts = ["a", "b", "c", "d", "e"]
      const row = cachedRow(1, `{"a":"${"x".repeat(0.9 * mib)}"}`)
      for (const account of accounts) database.commit({ t: { stored: [row] } }, account)
      for (const account of ["a", "b", "c", "d"]) {
        yield* read("t", account)
        assert.deepStrictEqual(yield* read("t", account), [1])
      }
      assert.deepStrictEqual(yield* read("t", "a"), [1])
      assert.isUndefined(yield* read("t", "e"))
      assert.deepStrictEqual(yield* read("t", "e"), [1])
      database.asked()
      for (const account of ["a", "c", "d", "e"]) assert.deepStrictEqual(yield* read("t", account), [1])
      assert.deepStrictEqual(database.asked(), [])
      assert.isUndefined(yield* read("t", "b"))
      // What a query learns counts as well.
      const before = (yield* metrics).bytes
      const table = yield* at("t", "a")
      atOnce(table!.query({ filter: undefined, sort: parseSort("a"), limit: 1 }))
      yield* read("t", "c")
      assert.isAbove((yield* metrics).bytes, before)
      assert.isAtMost((yield* metrics).bytes, 4 * mib)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("are loaded four at a time, others are read by SQL meanwhile", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUp()
      const accounts = Array.from({ length: 6 }, (_, index) => `a${index}`)
      for (const account of accounts) yield* read("t", account)
      database.isHeld = true
      const reads = yield* Effect.forEach(accounts, (account) => fork(read("t", account)))
      assert.strictEqual(database.waiting, 4)
      assert.isUndefined(yield* Fiber.join(reads[4]!))
      for (let n = 0; n < 4; n++) database.release()
      assert.deepStrictEqual(yield* Fiber.join(reads[3]!), [])
      database.isHeld = false
      assert.deepStrictEqual(yield* read("t", "a5"), [])
    })
  )

  it.effect("are none where they may take nothing", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp(0)
      for (let n = 0; n < 3; n++) assert.isUndefined(yield* read("t"))
      cache.committed(AccountId.make("a"), ...database.commit({ t: { stored: [cachedRow(1)] } }))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(database.asked(), [])
      assert.deepStrictEqual(yield* metrics, { hits: 0, misses: 0, bytes: 0 })
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("tell how often they answered, and what they take", () =>
    Effect.gen(function* () {
      const { cache, read } = yield* setUpLoaded
      yield* read("t")
      const { bytes, hits, misses } = yield* metrics
      assert.deepStrictEqual({ hits, misses }, { hits: 3, misses: 2 })
      assert.isAbove(bytes, 1000)
      cache.forgetAll()
      assert.strictEqual((yield* metrics).bytes, 0)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("leave nothing behind when they are forgotten one by one, and tell what their marks take", () =>
    Effect.gen(function* () {
      const { cache, read } = yield* setUp()
      const accounts = Array.from({ length: 20_000 }, (_, index) => AccountId.make(`account ${index}`))
      for (const account of accounts) yield* read("warm", account)
      for (const account of accounts) cache.forget(account)
      assert.strictEqual((yield* metrics).bytes, 0)
      const before = liveBytes()
      for (const account of accounts) for (const table of ["t", "u"]) yield* read(table, account)
      const taken = liveBytes() - before
      const { bytes } = yield* metrics
      assert.closeTo(bytes / taken, 1, 0.25, `${bytes} told, ${taken} taken`)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
