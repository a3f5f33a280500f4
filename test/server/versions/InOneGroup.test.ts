import { assert, layer } from "@effect/vitest"
import { Effect, Result } from "effect"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import type { WriteResult } from "../../../src/server/tables/engine/Evaluation.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { Versions } from "../../../src/server/versions/Versions.ts"
import { callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted

/** Begins all writes at once: those of one account are carried out in this order, and together. */
const together = (writes: ReadonlyArray<Effect.Effect<WriteResult, unknown>>) =>
  Effect.map(
    Effect.forEach(writes, (write) => Effect.result(write), { concurrency: "unbounded" }),
    (results) => results.map(Result.isSuccess)
  )

/** A row without a past. */
const newRow = Effect.gen(function* () {
  const { accountId } = yield* newAccount
  const rowWrites = yield* Writes
  const versions = yield* Versions
  const caller = yield* callerNow(accountId, "notes")
  const { body } = yield* rowWrites.write(...caller, { action: "add", row: json('{"n":0}') })
  const { id } = JSON.parse(body.text) as { id: string }
  const patch = (n: number) => ({ action: "update_row", id, patch: json(`{"n":${n}}`) }) as const
  const listed = Effect.map(
    versions.list(caller[0], "notes", id),
    ({ text }) => JSON.parse(text) as { versions: ReadonlyArray<{ version: number; row: { n: number } }> }
  )
  const past = Effect.map(listed, (list) => list.versions.map(({ row, version }) => [version, row.n]))
  return { accountId, caller, id, past, patch, rowWrites }
})

layer(servicesLayer(), { excludeTestServices: true })("Versions of writes that are carried out together", (it) => {
  it.effect("are restored by a later one of them, as long as they are among the row's last ten", () =>
    Effect.gen(function* () {
      const { accountId, caller, id, past, patch, rowWrites } = yield* newRow
      const patches = Array.from({ length: 11 }, (_, n) => rowWrites.write(...caller, patch(n + 1)))
      const restores = [1, 2].map((version) => rowWrites.write(...caller, { action: "restore", id, version }))
      assert.deepStrictEqual(yield* together([...patches, ...restores]), [...patches.map(() => true), false, true])
      assert.deepStrictEqual(
        yield* past,
        Array.from({ length: 10 }, (_, n) => [12 - n, 11 - n])
      )
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are numbered as if a refused one of them had never been", () =>
    Effect.gen(function* () {
      const { accountId, caller, past, patch, rowWrites } = yield* newRow
      const missing = { action: "update_row", id: "none", patch: json("{}") } as const
      const writes = [rowWrites.batch(...caller, [patch(1), patch(2), missing]), rowWrites.write(...caller, patch(3))]
      assert.deepStrictEqual(yield* together(writes), [false, true])
      assert.deepStrictEqual(yield* past, [[1, 0]])
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})
