import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Metric } from "effect"
import { Unavailable } from "../../../src/domain/Problem.ts"
import { parseSort } from "../../../src/domain/Query.ts"
import type { CachedRow, CachedTable } from "../../../src/server/tables/engine/cache/CachedTable.ts"
import { makeTableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { pick, randomFrom } from "../../domain/json/RandomJson.ts"
import { CachedDatabase, type Moment } from "../../support/CachedDatabase.ts"
import { cachedRow } from "../../support/CachedRows.ts"
import { liveBytes } from "../../support/LiveHeap.ts"

const mib = 1_048_576

const numbers = (table: CachedTable | undefined) => table?.rows.map(({ seq }) => seq)

const metrics = Effect.map(Metric.snapshot, (snapshots) => {
  const of = (name: string) => {
    const state = snapshots.find(({ id }) => id === `agent_memory_table_cache_${name}`)?.state as
      | { readonly count?: number; readonly value?: number }
      | undefined
    return state?.count ?? state?.value ?? Number.NaN
  }
  return { hits: of("hits_total"), misses: of("misses_total"), bytes: of("bytes") }
})

/** A cache, its database, and a read that is admitted when it begins. */
const setUp = Effect.fnUntraced(function* (capacity = 64 * mib) {
  const database = new CachedDatabase()
  const cache = yield* makeTableCache(database.reads, capacity)
  const at = (table: string, accountId = "a") =>
    Effect.suspend(() => cache.at(accountId, table, database.moment(accountId)))
  const read = (table: string, accountId?: string) => Effect.map(at(table, accountId), numbers)
  return { database, cache, at, read }
})

/** The same with tables `t` (rows 1 and 2) and `u` (row 3) in memory. */
const setUpLoaded = Effect.gen(function* () {
  const all = yield* setUp()
  all.database.commit({ t: { stored: [cachedRow(1), cachedRow(2)] }, u: { stored: [cachedRow(3)] } })
  for (const table of ["t", "t", "u", "u"]) yield* all.read(table)
  assert.deepStrictEqual(all.database.asked(), ["load t", "load u"])
  return all
})

const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

interface Reading {
  readonly table: string
  readonly admitted: Moment
  readonly fiber: Fiber.Fiber<CachedTable | undefined>
}

/**
 * One instance's reads and commits, and another's commits, in a random order, with statements that are answered late and in
 * any order, commits that the cache is told of late, and a database that goes on from an earlier state elsewhere. Gives how
 * many reads memory answered.
 */
const playRandomly = Effect.fnUntraced(function* (seed: number) {
  const random = randomFrom(seed)
  const { cache, database } = yield* setUp(random(3) === 0 ? 3000 : mib)
  database.isHeld = true
  const untold: Array<ReturnType<CachedDatabase["commit"]>> = []
  const readings: Array<Reading> = []
  const saved = [database.saved]
  /** What a table was, by server and revision. */
  const past = new Map<string, string | undefined>()
  const textOf = (rows: ReadonlyArray<CachedRow>) => rows.map(({ data, seq }) => `${seq}${data.text}`).join()
  const remember = () => {
    const { incarnation, revision } = database.moment()
    for (const table of ["t", "u"]) past.set(`${table} ${incarnation} ${revision}`, textOf(database.rows(table)))
  }
  const commit = (nth: number) => {
    const table = pick(random, ["t", "u"])
    const rows = database.rows(table)
    const stored = random(4) === 0 ? [] : [cachedRow(1 + random(12), `{"n":${nth}}`)]
    const removed = random(3) === 0 && rows.length > 0 ? [pick(random, rows)] : []
    const done = database.commit(
      random(5) === 0 ? {} : { [table]: { stored, removed: removed.filter(({ seq }) => seq !== stored[0]?.seq) } }
    )
    remember()
    return done
  }
  const settle = (reading: Reading): boolean => {
    const exit = reading.fiber.pollUnsafe()
    if (exit === undefined) return false
    const { admitted, table } = reading
    const found = Exit.isSuccess(exit) ? exit.value : assert.fail("A read failed")
    if (found === undefined) return true
    hits++
    const text = textOf(found.rows)
    for (let revision = admitted.revision; past.has(`${table} ${admitted.incarnation} ${revision}`); revision++) {
      if (past.get(`${table} ${admitted.incarnation} ${revision}`) === text) return true
    }
    return assert.fail(`seed ${seed}: ${table} at ${admitted.revision} was read as ${text}`)
  }
  let hits = 0
  remember()
  for (let step = 0; step < 400; step++) {
    const kind = random(40)
    if (kind < 3) commit(step)
    else if (kind < 9) untold.push(commit(step))
    else if (kind < 26) {
      const [table, admitted] = [pick(random, ["t", "u"]), database.moment()]
      readings.push({ table, admitted, fiber: yield* fork(cache.at("a", table, admitted)) })
    } else if (kind < 38) database.release(random(Math.max(1, database.waiting)))
    else if (kind === 38 && random(4) === 0) cache.forget("a")
    else if (kind === 39 && random(4) === 0) {
      database.failOver(pick(random, saved.slice(-3)))
      // Nobody learns of what was on its way, or what the past of the other server was from there on.
      untold.length = 0
      remember()
    }
    saved.push(database.saved)
    if (random(3) > 0) for (const told of untold.splice(0)) cache.committed("a", ...told)
    yield* Effect.yieldNow
    for (const reading of readings.splice(0)) if (!settle(reading)) readings.push(reading)
  }
  database.isHeld = false
  while (database.waiting > 0) database.release()
  for (const reading of readings) {
    yield* Fiber.await(reading.fiber)
    settle(reading)
  }
  return hits
})

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
        "a",
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
      cache.committed("a", ...database.commit({ t: { stored: [cachedRow(5)] } }))
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
      cache.committed("a", ...committed)
      assert.deepStrictEqual(yield* read("t"), [1])
      cache.committed("a", ...later)
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
      cache.committed("a", ...database.commit({ t: { stored: [cachedRow(2)] } }))
      cache.committed("a", ...database.commit({ u: { stored: [cachedRow(3)] } }))
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
      cache.committed("a", ...database.commit({ t: { stored: [cachedRow(3)] } }))
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
      cache.committed("a", ...database.commit({ u: { removed: [cachedRow(3)] } }))
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
      assert.isUndefined(yield* cache.at("a", "t", before))
      database.incarnation = 2
      assert.isUndefined(yield* cache.at("a", "t", before))
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
      cache.forget("a")
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

  it.effect("are not kept where they are too large, which is asked once for many reads", () =>
    Effect.gen(function* () {
      const { cache, database, read } = yield* setUp()
      const long = "x".repeat(mib)
      const rows = Array.from({ length: 4 }, (_, index) => cachedRow(index + 1, `{"a":"${long}"}`))
      database.commit({ t: { stored: rows } })
      for (let n = 0; n < 4; n++) assert.isUndefined(yield* read("t"))
      cache.committed("a", ...database.commit({ t: { stored: [cachedRow(5)] } }))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(database.asked(), ["load t"])
      cache.committed("a", ...database.commit({ t: { removed: rows.slice(1) } }))
      assert.isUndefined(yield* read("t"))
      assert.deepStrictEqual(yield* read("t"), [1, 5])
      // It grows beyond what is kept; text may take twice its bytes.
      for (let n = 6; n < 15; n++)
        cache.committed("a", ...database.commit({ t: { stored: [cachedRow(n, `{"a":"${long}"}`)] } }))
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
      table!.query({ filter: undefined, sort: parseSort("a"), limit: 1 })
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
      cache.committed("a", ...database.commit({ t: { stored: [cachedRow(1)] } }))
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
      const accounts = Array.from({ length: 5000 }, (_, index) => `account ${index}`)
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

  it.effect("end with their service, and nobody waits for them then", () =>
    Effect.gen(function* () {
      const database = new CachedDatabase()
      database.isHeld = true
      const { reading, cache } = yield* Effect.scoped(
        Effect.gen(function* () {
          const cache = yield* makeTableCache(database.reads, mib)
          const at = cache.at("a", "t", database.moment())
          yield* at
          return { cache, reading: yield* Effect.forkDetach(at, { startImmediately: true }) }
        })
      )
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(reading)))
      assert.isUndefined(yield* cache.at("a", "t", database.moment()))
      assert.isUndefined(yield* cache.at("a", "t", database.moment()))
    })
  )

  it.effect("are never older than what was answered before a read came, in any order of what happens", () =>
    Effect.gen(function* () {
      const first = Date.now() % 1_000_000_000
      let hits = 0
      for (let seed = first; seed < first + 60; seed++) hits += yield* playRandomly(seed)
      assert.isAbove(hits, 600)
    }).pipe(Effect.scoped)
  )
})
