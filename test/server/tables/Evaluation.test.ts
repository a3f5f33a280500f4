import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { limitsWith } from "../../../src/domain/Limits.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Evaluation } from "../../../src/server/tables/engine/Evaluation.ts"
import { Workspace, WorkRow } from "../../../src/server/tables/engine/Workspace.ts"
import { batchOf, checked } from "../../support/Batches.ts"
import { atOnce } from "../../support/CachedRows.ts"

const json = JsonText.trusted

const most = 100_000
const limits = limitsWith({ rowsPerTable: most, storageBytes: 1_000 * most })

const evaluationOf = (workspace: Workspace): Evaluation => {
  let ids = 0
  const loaded = { records: new Map(), restorable: new Map(), idOwners: new Map(), undoable: [], deleted: [] }
  return new Evaluation(workspace, loaded, limits, () => `new ${ids++}`)
}

const workspaceOf = (rows: number): Workspace => {
  const counts = { nextSeq: rows, nextChange: 1, storageBytes: 7 * rows, rowsByTable: new Map([["t", rows]]) }
  const workspace = new Workspace({ revision: 1, incarnation: 1, ...counts })
  for (let seq = 0; seq < rows; seq++) {
    const content = { updatedAt: 0, data: json('{"a":1}') }
    workspace.load(new WorkRow({ table: "t", id: `row ${seq}`, seq, createdAt: 0 }, content, 0, 0))
  }
  return workspace
}

/** In milliseconds of processor time, how long 200 batches of 100 adds take. */
const timeOfAdds = (keyOf: (batch: number, index: number) => { readonly idempotencyKey?: string }): number => {
  const add = (batch: number, index: number) =>
    checked({ action: "add", row: json('{"a":1}'), ...keyOf(batch, index) }, limits.rowBytes)
  const batches = Array.from({ length: 200 }, (_, batch) =>
    batchOf(Array.from({ length: 100 }, (_, index) => add(batch, index)))
  )
  const evaluation = evaluationOf(workspaceOf(0))
  const before = process.threadCpuUsage()
  for (const batch of batches) assert.isTrue(Result.isSuccess(atOnce(evaluation.evaluate(batch))))
  const { system, user } = process.threadCpuUsage(before)
  return (system + user) / 1000
}

describe("The evaluation of batches", () => {
  it("answers with however many rows they change, where the limits of a service are raised", () => {
    const filter = json('{"a":1}')
    const update = { action: "update_where", filter, patch: json('{"a":2}'), allowMultiple: true } as const
    const batch = batchOf([checked(update, limits.rowBytes)])
    const outcome = atOnce(evaluationOf(workspaceOf(most)).evaluate(batch))
    const { results } = JSON.parse(Result.getOrThrow(outcome).body.text) as {
      readonly results: ReadonlyArray<{ readonly result: { readonly updated: number } }>
    }
    assert.strictEqual(results[0]!.result.updated, most)
  })

  it("takes little longer where each of many adds has a key of its own", () => {
    timeOfAdds(() => ({}))
    const without = timeOfAdds(() => ({}))
    const withKeys = timeOfAdds((batch, index) => ({ idempotencyKey: `${batch} ${index}` }))
    assert.isBelow(withKeys / without, 8)
  })
})
