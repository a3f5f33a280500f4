import { JsonText } from "../../src/domain/json/JsonText.ts"
import { CachedTable, type CachedRow } from "../../src/server/tables/engine/cache/CachedTable.ts"
import type { Turns } from "../../src/domain/Turns.ts"

/** A text of its own, as a database's driver gives it. */
const own = (text: string): string => Buffer.from(text).toString()

/** The row of a table with this number, which is its place too. */
export const cachedRow = (seq: number, data = `{"n":${seq}}`): CachedRow => ({
  id: own(`0190d0c0-0000-7000-8000-${String(seq).padStart(12, "0")}`),
  createdAt: 1_700_000_000_000 + seq,
  updatedAt: 1_700_000_000_000 + seq,
  data: JsonText.trusted(own(data)),
  seq,
  lastVersion: 0
})

/** What the work comes to, without a pause. */
export const atOnce = <A>(work: Turns<A>): A => {
  for (;;) {
    const { done, value } = work.next()
    if (done === true) return value
  }
}

export const cachedTable = (rows: ReadonlyArray<CachedRow>): CachedTable => atOnce(CachedTable.from(rows))
