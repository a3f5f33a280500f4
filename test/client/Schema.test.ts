import { assert, layer } from "@effect/vitest"
import { Schema } from "effect"
import type { AgentMemoryError, StandardSchema } from "../../src/client/createClient.ts"
import { rejection, withClient } from "../support/Client.ts"
import { serviceLayer } from "../support/TestService.ts"

const Task = Schema.toStandardSchemaV1(
  Schema.Struct({ title: Schema.String, due: Schema.DateFromString, note: Schema.optionalKey(Schema.String) })
)

/** A schema of no library, which refuses fields that it does not know. */
const strict: StandardSchema<{ title: string }> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) =>
      Promise.resolve(
        Object.keys(value as object).join() === "title"
          ? { value: value as { title: string } }
          : { issues: [{ message: "only a title is known here" }] }
      )
  }
}

layer(serviceLayer())("A table with a schema", (it) => {
  it.effect("writes what the schema takes and reads what it gives, beside the system fields", () =>
    withClient(async (memory) => {
      const tasks = memory.table("tasks", Task)
      const added = await tasks.add({ title: "write", due: "2026-11-27T20:07:59.549Z" })
      assert.strictEqual(added.due.getTime(), Date.parse("2026-11-27T20:07:59.549Z"))
      assert.match(added.id, /^[0-9a-f-]{36}$/)
      const { rows } = await tasks.query({ filter: { due: "2026-11-27T20:07:59.549Z" } })
      assert.deepStrictEqual(rows, [added])
      const [upserted] = await tasks.batch((b) => [
        b.upsert({ key: "title", row: { title: "write", due: "2026-11-28T00:00:00.000Z" } })
      ])
      assert.strictEqual(upserted.row.due.getUTCDate(), 28)
    })
  )

  it.effect("names the table, the row and what is wrong with it when a row does not fit", () =>
    withClient(async (memory) => {
      const { id } = await memory.table("tasks").add({ title: "write", due: 5 })
      const error = (await rejection(memory.table("tasks", Task).query())) as AgentMemoryError
      if (error.code !== "invalid_row") return assert.fail(error.code)
      assert.strictEqual(error.table, "tasks")
      assert.strictEqual(error.rowId, id)
      assert.deepStrictEqual(error.issues[0]?.path, ["due"])
      assert.include(error.message, `Row ${id} of table tasks does not fit its schema: `)
    })
  )

  it.effect("shows the schema the row's own fields only", () =>
    withClient(async (memory) => {
      const tasks = memory.table("tasks", strict)
      assert.strictEqual((await tasks.add({ title: "write" })).title, "write")
    })
  )

  it.effect("gives versions as they were, also where they do not fit", () =>
    withClient(async (memory) => {
      const { id } = await memory.table("tasks").add({ old: true })
      const tasks = memory.table("tasks", strict)
      await tasks.delete({ id })
      assert.isTrue((await tasks.versions(id))[0]?.row["old"])
    })
  )
})
