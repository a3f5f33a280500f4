import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { anotherInstance, callerNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, servicesLayer } from "../../support/TestService.ts"

const json = JsonText.trusted
const idOf = (text: string) => (JSON.parse(text) as { id: string }).id

const lowered = {
  LIMIT_TABLES: "1",
  LIMIT_ROWS_PER_TABLE: "2",
  LIMIT_STORAGE_BYTES: "300",
  LIMIT_ROW_BYTES: "100"
}

layer(servicesLayer(), { excludeTestServices: true })("An account above limits that were lowered since", (it) => {
  const above = Effect.gen(function* () {
    const { accountId } = yield* newAccount
    const before = yield* Writes
    const ids: Array<string> = []
    for (const table of ["notes", "other"]) {
      const caller = yield* callerNow(accountId, table)
      for (let n = 0; n < 4; n++) {
        const row = json(`{"n":${n},"text":"${"x".repeat(200)}"}`)
        ids.push(idOf((yield* before.write(...caller, { action: "add", row })).body.text))
      }
    }
    const caller = yield* callerNow(accountId, "notes")
    const { rowWrites } = yield* anotherInstance(lowered)
    return { accountId, caller, id: ids[0]!, rowWrites }
  })

  it.effect("may shrink and stay the same, row by row and in a batch", () =>
    Effect.gen(function* () {
      const { accountId, caller, id, rowWrites } = yield* above
      const patch = (text: string) => rowWrites.write(...caller, { action: "update_row", id, patch: json(text) })
      yield* patch(`{"text":"${"y".repeat(200)}"}`)
      yield* patch(`{"text":"${"y".repeat(150)}"}`)
      assert.strictEqual((yield* Effect.flip(patch('{"more":1}'))).code, "row_too_large")
      const upsert = (length: number) =>
        rowWrites.write(...caller, { action: "upsert", key: "n", row: json(`{"n":0,"text":"${"z".repeat(length)}"}`) })
      yield* upsert(140)
      assert.strictEqual((yield* Effect.flip(upsert(160))).code, "row_too_large")
      yield* patch('{"text":""}')
      yield* rowWrites.batch(...caller, [
        { action: "add", row: json('{"n":9}') },
        { action: "delete", filter: json('{"n":1}') }
      ])
      yield* rowWrites.write(...caller, { action: "delete", filter: json('{"n":2}') })
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("may not have a name twice in what is longer than a row may be by now", () =>
    Effect.gen(function* () {
      const { caller, rowWrites } = yield* above
      const before = yield* Writes
      const added = yield* before.write(...caller, { action: "add", row: json(`{"text":"${"x".repeat(5000)}"}`) })
      const patch = json(`{"text":"${"y".repeat(2000)}","more":{"a":1,"a":2}}`)
      const refused = yield* Effect.flip(
        rowWrites.write(...caller, { action: "update_row", id: idOf(added.body.text), patch })
      )
      assert.strictEqual(refused.code, "invalid_request")
      assert.strictEqual("errors" in refused ? refused.errors?.[0]?.path : "", "/patch/more/a")
    })
  )

  it.effect("may not grow", () =>
    Effect.gen(function* () {
      const { accountId, caller, rowWrites } = yield* above
      const add = (table: string) => rowWrites.write(caller[0], { table }, { action: "add", row: json("{}") })
      assert.strictEqual((yield* Effect.flip(add("third"))).code, "table_limit")
      assert.strictEqual((yield* Effect.flip(add("notes"))).code, "row_limit")
      yield* rowWrites.batch(...caller, [
        { action: "delete", filter: json('{"n":0}') },
        { action: "delete", filter: json('{"n":1}') },
        { action: "delete", filter: json('{"n":2}') }
      ])
      assert.strictEqual((yield* Effect.flip(add("notes"))).code, "storage_limit")
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("may not get a new row above them by an upsert", () =>
    Effect.gen(function* () {
      const { caller, rowWrites } = yield* above
      const row = json(`{"n":9,"text":"${"x".repeat(150)}"}`)
      const refused = yield* Effect.flip(rowWrites.write(...caller, { action: "upsert", key: "n", row }))
      assert.strictEqual(refused.code, "row_too_large")
    })
  )

  it.effect("may not restore a deleted row that is too large by now", () =>
    Effect.gen(function* () {
      const { accountId, caller, id, rowWrites } = yield* above
      yield* rowWrites.write(...caller, { action: "delete", filter: json(`{"id":"${id}"}`) })
      const refused = yield* Effect.flip(rowWrites.write(...caller, { action: "restore", id, version: 1 }))
      assert.strictEqual(refused.code, "row_too_large")
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})
