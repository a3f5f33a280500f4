import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import { AccountId } from "../../../src/domain/Account.ts"
import type { CachedRow, CachedTable } from "../../../src/server/tables/engine/cache/CachedTable.ts"
import { pick, randomFrom } from "../../domain/json/RandomJson.ts"
import type { CachedDatabase, Moment } from "../../support/CachedDatabase.ts"
import { cachedRow } from "../../support/CachedRows.ts"
import { fork, mib, setUp } from "../../support/CacheUnderTest.ts"

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
      readings.push({ table, admitted, fiber: yield* fork(cache.at(AccountId.make("a"), table, admitted)) })
    } else if (kind < 38) database.release(random(Math.max(1, database.waiting)))
    else if (kind === 38 && random(4) === 0) cache.forget(AccountId.make("a"))
    else if (kind === 39 && random(4) === 0) {
      database.failOver(pick(random, saved.slice(-3)))
      // Nobody learns of what was on its way, or what the past of the other server was from there on.
      untold.length = 0
      remember()
    }
    saved.push(database.saved)
    if (random(3) > 0) for (const told of untold.splice(0)) cache.committed(AccountId.make("a"), ...told)
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
  it.effect("are never older than what was answered before a read came, in any order of what happens", () =>
    Effect.gen(function* () {
      const first = Date.now() % 1_000_000_000
      let hits = 0
      for (let seed = first; seed < first + 60; seed++) hits += yield* playRandomly(seed)
      assert.isAbove(hits, 600)
    }).pipe(Effect.scoped)
  )
})
