import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes, type BatchOperation } from "../../../src/server/tables/Writes.ts"
import { callerNow } from "../../support/Instances.ts"
import { peakMebibytes } from "../../support/Memory.ts"
import { longestTurn } from "../../support/LongestTurn.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted
const maxTurn = 200

/** An account with a table of 1,000 small rows. */
const thousandRows = Effect.gen(function* () {
  const { accountId } = yield* newAccount
  const rowWrites = yield* Writes
  const caller = yield* callerNow(accountId, "many")
  const rows = Array.from({ length: 1000 }, (_, n) => json(`{"a":1,"n":${n}}`))
  yield* rowWrites.batch(
    ...caller,
    rows.map((row) => ({ action: "add", row }))
  )
  return { caller, rowWrites }
})

const longText = (bytes: number) => json(`{"t":"${"x".repeat(bytes)}"}`)
const manyMembers = (count: number) => json(`{${Array.from({ length: count }, (_, n) => `"m${n}":${n}`).join()}}`)

const everywhere = (patch: JsonText): BatchOperation => ({
  action: "update_where",
  filter: json('{"a":1}'),
  patch,
  allowMultiple: true
})

const upsertOf = (row: JsonText): BatchOperation => ({ action: "upsert", key: ["t"], row })

const outsized: Record<string, ReadonlyArray<BatchOperation>> = {
  "a patch of 500 KB for 1,000 rows": [everywhere(longText(500_000))],
  "a patch of 8 MB for 1,000 rows": [everywhere(longText(8_000_000))],
  "a patch of 300,000 members for 1,000 rows": [everywhere(manyMembers(300_000))],
  "a patch of 8 MB for one row": [{ action: "update_row", id: "none", patch: longText(8_000_000) }],
  "a row of 300,000 members to upsert": [upsertOf(manyMembers(300_000))],
  "a patch of 500 KB behind another operation": [{ action: "add", row: json("{}") }, everywhere(longText(500_000))]
}

layer(servicesLayer({ LIMIT_BATCH_OPERATIONS: "1000" }), { excludeTestServices: true })(
  "A write longer than a row",
  (it) => {
    for (const [what, operations] of Object.entries(outsized)) {
      it.effect(`such as ${what} is refused before anything is made of it`, () =>
        Effect.gen(function* () {
          const { caller, rowWrites } = yield* thousandRows
          const before = peakMebibytes()
          const { answer, longest } = yield* longestTurn(Effect.flip(rowWrites.batch(...caller, operations)))
          assert.strictEqual(answer.code, "row_too_large")
          assert.isBelow(longest, maxTurn)
          assert.isBelow(peakMebibytes() - before, 64)
        })
      )
    }
  }
)
