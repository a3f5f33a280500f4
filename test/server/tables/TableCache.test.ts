import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { AccountId } from "../../../src/domain/Account.ts"
import { Unavailable } from "../../../src/domain/Problem.ts"
import { makeTableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { CachedDatabase } from "../../support/CachedDatabase.ts"
import { cachedRow } from "../../support/CachedRows.ts"
import { fork, setUp, setUpLoaded } from "../../support/CacheUnderTest.ts"

describe("Tables in memory", () => {
  it.effect("are loaded by the second read of a revision, and answer from then on", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUp()
      database.commit({ t: { stored: [cachedRow(1), cachedRow(2)] } })
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(database.asked(), [])
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      assert.deepStrictEqual(database.asked(), ["load t"])
      // A table that was never written is an empty one.
      assert.isUndefined(yield* read("none"))
      assert.deepStrictEqual(yield* read("none"), [])
    })
  )

  it.effect("are not loaded for reads between each of which another instance writes", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUp()
      for (let n = 1; n < 5; n++) {
        database.commit({ t: { stored: [cachedRow(n)] } })
        assert.isUndefined(yield* read("t"))
      }
      assert.deepStrictEqual(database.asked(), [])
    })
  )

  it.effect("take over the commits of their own process, those that were read once too", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUpLoaded
      yield* read("v")
      const removed = database.rows("t").slice(0, 1)
      cache.committed(
        AccountId.make("a"),
        ...database.commit({ t: { stored: [cachedRow(4)], removed }, v: { stored: [cachedRow(5)] } })
      )
      assert.deepStrictEqual(yield* read("t"), [2, 4])
      assert.deepStrictEqual(yield* read("u"), [3])
      assert.deepStrictEqual(database.asked(), [])
      assert.deepStrictEqual(yield* read("v"), [5])
      assert.deepStrictEqual(database.asked(), ["load v"])
    })
  )

  it.effect("are asked after once when another instance wrote, and only what it changed is dropped", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUpLoaded
      database.commit({ u: { stored: [cachedRow(4)] } })
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      assert.deepStrictEqual(database.asked(), ["revisions"])
      assert.isUndefined(yield* read("u"))
      assert.deepStrictEqual(yield* read("u"), [3, 4])
      assert.deepStrictEqual(database.asked(), ["load u"])
    })
  )

  it.effect("do not take over a commit that does not follow on what they are", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUpLoaded
      database.commit({ t: { stored: [cachedRow(4)] } })
      cache.committed(AccountId.make("a"), ...database.commit({ t: { stored: [cachedRow(5)] } }))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(yield* read("t"), [1, 2, 4, 5])
      assert.deepStrictEqual(yield* read("u"), [3])
    })
  )

  it.effect("do not take over what they were loaded with already", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp()
      database.commit({ t: { stored: [cachedRow(1)] } })
      const committed = database.commit({ t: { removed: [cachedRow(1)] } })
      const later = database.commit({ t: { stored: [cachedRow(1)] } })
      yield* read("t")
      yield* read("t")
      cache.committed(AccountId.make("a"), ...committed)
      assert.deepStrictEqual(yield* read("t"), [1])
      cache.committed(AccountId.make("a"), ...later)
      assert.deepStrictEqual(yield* read("t"), [1])
      assert.deepStrictEqual(database.asked(), ["load t"])
    })
  )

  it.effect("take over the commits that land while they are loaded", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp()
      database.commit({ t: { stored: [cachedRow(1)] } })
      yield* read("t")
      database.isHeld = true
      const reading = yield* fork(read("t"))
      cache.committed(AccountId.make("a"), ...database.commit({ t: { stored: [cachedRow(2)] } }))
      cache.committed(AccountId.make("a"), ...database.commit({ u: { stored: [cachedRow(3)] } }))
      const later = yield* fork(read("t"))
      database.release()
      assert.deepStrictEqual(yield* Fiber.join(reading), [1, 2])
      assert.deepStrictEqual(yield* Fiber.join(later), [1, 2])
      assert.deepStrictEqual(database.asked(), ["load t"])
    })
  )

  it.effect("are not what another instance changed while they were loaded", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp()
      database.commit({ t: { stored: [cachedRow(1)] } })
      yield* read("t")
      database.isHeld = true
      const reading = yield* fork(read("t"))
      database.commit({ t: { stored: [cachedRow(2)] } })
      cache.committed(AccountId.make("a"), ...database.commit({ t: { stored: [cachedRow(3)] } }))
      const later = yield* fork(read("t"))
      database.isHeld = false
      database.release()
      // What was admitted before may be answered by what there was then, or by the database.
      assert.include([undefined, "1"], (yield* Fiber.join(reading))?.join())
      assert.isUndefined(yield* Fiber.join(later))
    })
  )

  it.effect("are loaded once for all who wait, also where the first of them goes away", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUp()
      database.commit({ t: { stored: [cachedRow(1)] } })
      yield* read("t")
      database.isHeld = true
      const first = yield* fork(read("t"))
      const others = yield* Effect.forEach(Array.from({ length: 10 }), () => fork(read("t")))
      yield* Fiber.interrupt(first)
      database.release()
      assert.deepStrictEqual(
        yield* Effect.forEach(others, Fiber.join),
        others.map(() => [1])
      )
      database.commit({ u: { stored: [cachedRow(3)] } })
      const more = yield* Effect.forEach(Array.from({ length: 10 }), () => fork(read("t")))
      database.release()
      assert.deepStrictEqual(
        yield* Effect.forEach(more, Fiber.join),
        more.map(() => [1])
      )
      assert.deepStrictEqual(database.asked(), ["load t", "revisions"])
    })
  )

  it.effect("are not waited for by a read that knows of a later commit than they were asked after", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUpLoaded
      database.isHeld = true
      database.commit({ u: { stored: [cachedRow(4)] } })
      const first = yield* fork(read("t"))
      database.commit({ t: { stored: [cachedRow(5)] } })
      const second = yield* fork(read("t"))
      database.release()
      assert.deepStrictEqual(yield* Fiber.join(first), [1, 2])
      assert.strictEqual(database.waiting, 1)
      database.release()
      assert.isUndefined(yield* Fiber.join(second))
      assert.deepStrictEqual(database.asked(), ["revisions", "revisions"])
    })
  )

  it.effect("stay where they are empty and taken off the list of tables, and only then", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUpLoaded
      cache.committed(AccountId.make("a"), ...database.commit({ u: { removed: [cachedRow(3)] } }))
      database.removeTable("u")
      assert.deepStrictEqual(yield* read("u"), [])
      assert.deepStrictEqual(database.asked(), ["revisions"])
      database.commit({ t: { removed: [cachedRow(1), cachedRow(2)] } })
      database.removeTable("t")
      assert.isUndefined(yield* read("t"))
    })
  )

  it.effect("are forgotten with the start of the server that they were read from, also on their way", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUpLoaded
      yield* read("v")
      database.isHeld = true
      const loading = yield* fork(read("v"))
      database.incarnation = 2
      assert.isUndefined(yield* read("t"))
      database.isHeld = false
      database.release()
      assert.isUndefined(yield* Fiber.join(loading))
      assert.deepStrictEqual(database.asked(), ["load v"])
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      assert.isUndefined(yield* read("v"))
    })
  )

  it.effect("are not kept where the server was started again between the admission and the load", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp()
      const before = database.moment()
      assert.isUndefined(yield* cache.at(AccountId.make("a"), "t", before))
      database.incarnation = 2
      assert.isUndefined(yield* cache.at(AccountId.make("a"), "t", before))
      assert.deepStrictEqual(database.asked(), ["load t"])
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(yield* read("t"), [])
    })
  )

  it.effect("are forgotten by account, and all of them", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUpLoaded
      yield* read("t", "b")
      yield* read("t", "b")
      cache.forget(AccountId.make("a"))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(yield* read("t", "b"), [])
      database.asked()
      cache.forgetAll()
      assert.isUndefined(yield* read("t", "b"))
    })
  )

  it.effect("are not what was asked of the database before it was lost", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUpLoaded
      const before = database.saved
      database.isHeld = true
      for (let n = 4; n < 8; n++) database.commit({ u: { stored: [cachedRow(n)] } })
      const asking = yield* fork(read("t"))
      cache.forgetAll()
      database.failOver(before)
      // What took its place tells no other start.
      database.incarnation = 1
      yield* read("t")
      const loading = yield* fork(read("t"))
      database.release(1)
      assert.deepStrictEqual(yield* Fiber.join(loading), [1, 2])
      database.isHeld = false
      database.release()
      yield* Fiber.await(asking)
      database.commit({ t: { stored: [cachedRow(9)] } })
      assert.isUndefined(yield* read("t"))
    })
  )

  it.effect("are read by SQL while the database is away, and forgotten then; a defect is one account's own", () =>
    Effect.gen(function* () {
      const { database, read } = yield* setUpLoaded
      yield* read("t", "b")
      database.failure = Effect.die(new Error("broken"))
      assert.isUndefined(yield* read("t", "b"))
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      yield* read("t", "b")
      database.failure = Effect.fail(new Unavailable({}))
      assert.isUndefined(yield* read("t", "b"))
      assert.isUndefined(yield* read("t"))
      database.failure = undefined
      assert.deepStrictEqual(yield* read("t"), [1, 2])
      database.commit({ u: { removed: [cachedRow(3)] } })
      database.failure = Effect.fail(new Unavailable({}))
      assert.isUndefined(yield* read("t"))
    })
  )

  it.effect("end with their service, and nobody waits for them then", () =>
    Effect.gen(function* () {
      const database = new CachedDatabase()
      database.isHeld = true
      const { reading, cache } = yield* Effect.scoped(
        Effect.gen(function* () {
          const cache = yield* makeTableCache(database.reads, 1_048_576)
          const at = cache.at(AccountId.make("a"), "t", database.moment())
          yield* at
          return { cache, reading: yield* Effect.forkDetach(at, { startImmediately: true }) }
        })
      )
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(reading)))
      assert.isUndefined(yield* cache.at(AccountId.make("a"), "t", database.moment()))
      assert.isUndefined(yield* cache.at(AccountId.make("a"), "t", database.moment()))
    })
  )
})
