import { assert, describe, it } from "@effect/vitest"
import { Pace } from "../../../src/domain/Turns.ts"
import { Schema } from "effect"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { requestHash } from "../../../src/server/tables/engine/Evaluation.ts"
import type { Found } from "../../../src/server/tables/engine/SnapshotRepo.ts"
import { selectorKey } from "../../../src/server/tables/engine/Load.ts"
import { madeBytes } from "../../../src/server/tables/engine/WriteRoom.ts"
import { kindOf, selectorOf, type Sent } from "../../../src/server/tables/operations/Operations.ts"
import { namesIn, Workspace, WorkRow } from "../../../src/server/tables/engine/Workspace.ts"
import { batchOf, checked } from "../../support/Batches.ts"

const rowBytes = 200
const json = JsonText.trusted
const fields = (a: number, b: number, padding: number) => json(JSON.stringify({ a, b, text: "x".repeat(padding) }))
const idOf = (n: number) => `00000000-0000-7000-8000-00000000000${n}`

const Value = Schema.Literals([0, 1, 2])
const Padding = Schema.Literals([0, 10, 50])
const Step = Schema.Struct({
  action: Schema.Literals(["add", "upsert", "update_row", "update_where", "delete", "restore"]),
  name: Schema.Literals(["a", "b"]),
  value: Value,
  set: Schema.Literals(["a", "b", "c"]),
  to: Value,
  padding: Padding
})

const sentOf = ({ action, name, padding, set, to, value }: typeof Step.Type): Sent => {
  const filter = json(JSON.stringify({ [name]: value }))
  const patch = json(JSON.stringify({ [set]: to, [`more${padding}`]: "x".repeat(padding) }))
  switch (action) {
    case "add":
      return { action, row: fields(value, to, padding) }
    case "upsert":
      return { action, key: name, row: fields(value, to, padding) }
    case "update_row":
      return { action, id: idOf(value), patch }
    case "update_where":
      return { action, filter, patch, allowMultiple: true }
    case "delete":
      return { action, filter }
    case "restore":
      return { action, id: idOf(value), version: 1 }
  }
}

const finish = <A>(turns: Generator<void, A, void>): A => {
  for (;;) {
    const { done, value } = turns.next()
    if (done) return value
  }
}

describe("What updates make anew", () => {
  it.prop(
    "is never more than was foretold of them",
    {
      stored: Schema.Array(Schema.Struct({ a: Value, b: Value, padding: Padding })).check(Schema.isBetweenLength(4, 9)),
      requests: Schema.Array(Schema.Array(Step).check(Schema.isBetweenLength(1, 4))).check(Schema.isBetweenLength(1, 4))
    },
    ({ requests, stored }) => {
      const rows = stored.map(({ a, b, padding }, n) => {
        const place = { table: "t", id: idOf(n), seq: n, createdAt: 0 }
        return new WorkRow(place, { updatedAt: 0, data: fields(a, b, padding) }, 1, 0)
      })
      const sent = requests.map((steps) => batchOf(steps.map((step) => checked(sentOf(step), rowBytes))))
      const writes = sent.flatMap(({ writes }) => writes)
      const sizes = new Map<string, Found>()
      const workspace = new Workspace({
        revision: 1,
        incarnation: 1,
        nextSeq: 10,
        nextChange: 1,
        storageBytes: rows.reduce((sum, { content }) => sum + content!.data.bytes, 0),
        rowsByTable: new Map([["t", rows.length]])
      })
      for (const write of writes) {
        const selector = selectorOf(write, "t")
        if (selector === undefined) continue
        const filter = write.action === "upsert" ? write.natural : "filter" in write ? write.filter : undefined
        const matching = rows.filter((row) =>
          filter === undefined ? row.place.id === selector.id : row.matches(filter, namesIn(filter), new Pace())
        )
        for (const row of matching) workspace.load(row)
        if (selector.id !== undefined) continue
        const bytes = matching.reduce((sum, { content }) => sum + content!.data.bytes, 0)
        sizes.set(selectorKey(selector), { rows: matching.length, bytes })
      }
      const all = { rows: 0, bytes: 0 }
      for (const { bytes, rows } of sizes.values()) {
        all.rows += rows
        all.bytes += bytes
      }
      const foretold = madeBytes(sent, (selector) => sizes.get(selectorKey(selector))!, all, rowBytes)

      let made = 0
      let ids = 0
      const context = {
        workspace,
        table: "t",
        changedBy: "{}",
        now: 1,
        newId: () => `new ${ids++}`,
        versionsPerRow: 10,
        restorable: (id: string) => {
          const row = rows.find(({ place }) => place.id === id)
          return row && { row, versions: new Map([[1, fields(1, 1, 150)]]) }
        },
        idOwners: () => [],
        change: undefined,
        undoable: [],
        deleted: [],
        versionDays: 30,
        addRecord: () => undefined,
        saveAddRecord: () => undefined,
        hash: requestHash,
        count: (bytes: number) => {
          made += bytes
          return undefined
        }
      }
      for (const write of writes) {
        const applied = kindOf(write).apply(write, context, "")
        if ("next" in applied) finish(applied)
      }
      assert.isAtMost(made, foretold)
    },
    { arbitrary: { runs: 3000 } }
  )

  it("is foretold as no longer than rows may be, however many requests patch them", () => {
    const patch = json(JSON.stringify({ text: "x".repeat(100) }))
    const update = checked({ action: "update_where", filter: json('{"a":1}'), patch, allowMultiple: true }, rowBytes)
    const found = { rows: 1, bytes: 50 }
    const foretold = (requests: number) =>
      madeBytes(
        Array.from({ length: requests }, () => batchOf([update])),
        () => found,
        found,
        rowBytes
      )
    assert.isAtMost(foretold(100), 100 * (found.bytes + rowBytes + patch.bytes))
  })
})
