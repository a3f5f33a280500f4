import { assert } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { AccountId } from "../../src/domain/Account.ts"
import type { CachedTable } from "../../src/server/tables/engine/cache/CachedTable.ts"
import { makeTableCache } from "../../src/server/tables/engine/cache/TableCache.ts"
import { CachedDatabase } from "./CachedDatabase.ts"
import { cachedRow } from "./CachedRows.ts"

export const mib = 1_048_576

/** The places of a table's rows. */
const numbers = (table: CachedTable | undefined) => table?.rows.map(({ seq }) => seq)

/** What the cache tells of itself. */
export const metrics = Effect.map(Metric.snapshot, (snapshots) => {
  const of = (name: string) => {
    const state = snapshots.find(({ id }) => id === `agent_memory_table_cache_${name}`)?.state as
      | { readonly count?: number; readonly value?: number }
      | undefined
    return state?.count ?? state?.value ?? Number.NaN
  }
  return { hits: of("hits_total"), misses: of("misses_total"), bytes: of("bytes") }
})

/** A cache, its database, and a read that is admitted when it begins. */
export const setUp = Effect.fnUntraced(function* (capacity = 64 * mib) {
  const database = new CachedDatabase()
  const cache = yield* makeTableCache(database.reads, capacity)
  const at = (table: string, accountId = "a") =>
    Effect.suspend(() => cache.at(AccountId.make(accountId), table, database.moment(accountId)))
  const read = (table: string, accountId?: string) => Effect.map(at(table, accountId), numbers)
  return { database, cache, at, read }
})

/** The same with tables `t` (rows 1 and 2) and `u` (row 3) in memory. */
export const setUpLoaded = Effect.gen(function* () {
  const all = yield* setUp()
  all.database.commit({ t: { stored: [cachedRow(1), cachedRow(2)] }, u: { stored: [cachedRow(3)] } })
  for (const table of ["t", "t", "u", "u"]) yield* all.read(table)
  assert.deepStrictEqual(all.database.asked(), ["load t", "load u"])
  return all
})

export const fork = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })
