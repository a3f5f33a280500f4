import { shown, size, type Json, type ModelRow } from "./ModelValues.ts"

type Rows = ReadonlyArray<ModelRow>

const isLive = (row: ModelRow): boolean => row.own !== undefined
const namesOf = (rows: Rows): ReadonlyArray<string> => [...new Set(rows.map((row) => row.table))].toSorted()
const liveOf = (rows: Rows, table: string): Rows => rows.filter((row) => row.table === table && isLive(row))

/** Tables that have rows or versions, with their count of rows. */
export const tablesOf = (rows: Rows): Json => ({
  tables: namesOf(rows.filter((row) => isLive(row) || row.versions.length > 0)).map((name) => ({
    name,
    rows: liveOf(rows, name).length
  }))
})

/** All live rows by table, in the order in which they came. */
export const exportOf = (rows: Rows): Json => ({
  tables: Object.fromEntries(
    namesOf(rows.filter(isLive)).map((name) => [name, liveOf(rows, name).map((row) => shown(row))])
  )
})

/** What counts against the account's limits. */
export const usageOf = (rows: Rows): Json => {
  const live = rows.filter(isLive)
  const bytes = live.reduce((sum, row) => sum + size(row.own!), 0)
  return { tables: namesOf(live).length, rows: live.length, storage_bytes: bytes }
}
