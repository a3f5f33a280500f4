import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { AccountId } from "../../../src/domain/Account.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { selectCached } from "../../../src/server/tables/engine/Load.ts"
import type { TableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { batchOf, checked } from "../../support/Batches.ts"
import { cachedRow, cachedTable } from "../../support/CachedRows.ts"

const state = {
  revision: 1,
  incarnation: 1,
  nextSeq: 100,
  nextChange: 1,
  storageBytes: 0,
  rowsByTable: new Map([["t", 100]])
}

/** A table of 2 MB. */
const table = cachedTable(
  Array.from({ length: 100 }, (_, seq) => cachedRow(seq, `{"n":${seq},"text":"${"x".repeat(20_000)}"}`))
)
const cache: TableCache["Service"] = {
  at: () => Effect.succeed(table),
  committed: () => undefined,
  forget: () => undefined,
  accounts: () => [],
  forgetAll: () => undefined
}

/** What a batch of forty deletes, each by its own filter, selects. */
const select = (filter: (index: number) => string) => {
  const deletes = Array.from({ length: 40 }, (_, index) =>
    checked({ action: "delete", filter: JsonText.trusted(filter(index)) }, 65_536)
  )
  return selectCached(cache, AccountId.make("a"), [batchOf(deletes)], state)
}

describe("Rows of tables in memory", () => {
  it.effect("are looked for in turns, however many filters look at every row", () =>
    Effect.gen(function* () {
      let turns = 0
      let isOver = false
      const count = () => {
        turns++
        if (!isOver) setImmediate(count)
      }
      setImmediate(count)
      const found = yield* select((index) => `{"n":${index}}`)
      isOver = true
      assert.strictEqual(found?.rows.length, 40)
      assert.isAtLeast(turns, 20)
    })
  )

  it.effect("are looked for in the database where many filters name fields that nothing is known of", () =>
    Effect.gen(function* () {
      assert.isUndefined(yield* select((index) => `{"unknown${index}":1}`))
      assert.isDefined(yield* select((index) => `{"unknown":${index}}`))
    })
  )
})
