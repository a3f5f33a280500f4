import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type AgentMemoryError, createClient, createSignIn, RawNumber } from "../../src/client/createClient.ts"
import { rejection, withClient } from "../support/Client.ts"
import { BaseUrl, localSecret, serviceLayer } from "../support/TestService.ts"

interface Task {
  readonly title: string
  readonly done: boolean
  readonly rank?: number
}

layer(serviceLayer({ BASE_URL: "http://localhost:3000" }))("The client", (it) => {
  it.effect("adds, queries and counts rows", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const first = await tasks.add({ title: "write", done: false, rank: 2 })
      const second = await tasks.add({ title: "read", done: false, rank: 1 })
      await tasks.add({ title: "rest", done: true })
      assert.match(first.id, /^[0-9a-f-]{36}$/)
      assert.deepStrictEqual(await tasks.query({ filter: { done: false }, sort: "rank" }), {
        rows: [second, first],
        has_more: false
      })
      assert.isTrue((await tasks.query({ sort: "-rank", limit: 1 })).has_more)
      assert.deepStrictEqual((await tasks.query({ filter: { id: first.id } })).rows, [first])
      assert.strictEqual(await tasks.count(), 3)
      assert.strictEqual(await tasks.count({ done: true }), 1)
    })
  )

  it.effect("upserts by one key field or several", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const { created, row } = await tasks.upsert({ key: "title", row: { title: "write", done: false } })
      assert.isTrue(created)
      const again = await tasks.upsert({ key: ["title"], row: { ...row, done: true } })
      assert.isFalse(again.created)
      assert.strictEqual(again.row.id, row.id)
      assert.isTrue(again.row.done)
    })
  )

  it.effect("updates one row, or all that match", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const { id } = await tasks.add({ title: "write", done: false })
      await tasks.add({ title: "read", done: false })
      assert.strictEqual((await tasks.updateRow({ id, patch: { rank: 3 } })).rank, 3)
      const one = await tasks.updateWhere({ filter: { title: "read" }, patch: { rank: 4 } })
      assert.deepStrictEqual([one.updated, one.rows.map(({ rank }) => rank)], [1, [4]])
      const all = await tasks.updateWhere({ filter: { done: false }, patch: { done: true }, allowMultiple: true })
      assert.strictEqual(all.updated, 2)
    })
  )

  it.effect("deletes rows, lists their versions and restores one", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const added = await tasks.add({ title: "write", done: false })
      await tasks.updateRow({ id: added.id, patch: { done: true } })
      assert.strictEqual(await tasks.delete({ done: true }), 1)
      const versions = await tasks.versions(added.id)
      assert.deepStrictEqual(
        versions.map(({ operation, row, version }) => [version, operation, row["done"]]),
        [
          [2, "delete", true],
          [1, "update", false]
        ]
      )
      assert.deepInclude(versions[1], { table: "tasks", id: added.id, row: { ...added } })
      const restored = await tasks.restore({ id: added.id, version: 1 })
      assert.deepStrictEqual({ ...restored, updated_at: "" }, { ...added, updated_at: "" })
    })
  )

  it.effect("carries out a batch and gives each operation its own result", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const { id } = await tasks.add({ title: "old", done: true })
      const [added, upserted, updated, matched, deleted] = await tasks.batch((b) => [
        b.add({ title: "new", done: false }, { idempotencyKey: "new" }),
        b.upsert({ key: "title", row: { title: "old", done: false } }),
        b.updateRow({ id, patch: { rank: 1 } }),
        b.updateWhere({ filter: { done: false }, patch: { done: true }, allowMultiple: true }),
        b.delete({ title: "new" })
      ])
      assert.strictEqual(added.title, "new")
      assert.isFalse(upserted.created)
      assert.strictEqual(upserted.row.id, id)
      assert.strictEqual(updated.rank, 1)
      assert.deepStrictEqual([matched.updated, matched.rows.map(({ title }) => title)], [2, ["old", "new"]])
      assert.strictEqual(deleted, 1)
      const many = await tasks.batch((b) => ["a", "b"].map((title) => b.add({ title, done: false })))
      assert.deepStrictEqual(
        many.map(({ title }) => title),
        ["a", "b"]
      )
    })
  )

  it.effect("undoes a batch that fails, and names the operation", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const failed = tasks.batch((b) => [
        b.add({ title: "new", done: false }),
        b.updateRow({ id: "none", patch: { done: true } })
      ])
      const error = (await rejection(failed)) as AgentMemoryError
      assert.deepInclude({ ...error }, { code: "row_not_found", status: 404, operation: 1 })
      assert.strictEqual(await tasks.count(), 0)
    })
  )

  it.effect("takes back a write, and says which rows have changed since", () =>
    withClient(async (memory) => {
      const tasks = memory.table<Task>("tasks")
      const { id } = await tasks.add({ title: "old", done: false })
      await tasks.updateRow({ id, patch: { title: "new" } })
      const [, added] = (await memory.changes()).changes
      const error = (await rejection(memory.undo(added!.change))) as AgentMemoryError
      assert.deepInclude({ ...error }, { code: "changed_since", matches: 1, rows: [{ table: "tasks", id }] })
      const { rows } = await memory.undo(added!.change + 1)
      assert.deepStrictEqual(rows, [{ table: "tasks", operation: "restore", row_id: id }])
    })
  )

  it.effect("lists tables and exports all rows", () =>
    withClient(async (memory) => {
      const note = await memory.table("notes").add({ text: "…" })
      const task = await memory.table("constructor").add({ n: 1 })
      assert.deepStrictEqual(await memory.tables(), [
        { name: "constructor", rows: 1 },
        { name: "notes", rows: 1 }
      ])
      assert.deepStrictEqual(await memory.export(), { constructor: [task], notes: [note] } as never)
    })
  )

  it.effect("gives the export as the service sends it", () =>
    withClient(async (memory) => {
      const notes = memory.table("notes")
      const { id } = await notes.add({ amount: 12345678901234567890n })
      const text = await (await memory.exportResponse()).text()
      assert.match(text, new RegExp(`^{"tables":{"notes":\\[{"id":"${id}",.*"amount":12345678901234567890}\\]}}$`))
    })
  )

  it.effect("imports what another account exported", () =>
    Effect.gen(function* () {
      const exported = yield* withClient(
        async (memory) => {
          await memory.table("notes").add({ amount: 12345678901234567890n, price: new RawNumber("1.10") })
          return memory.export()
        },
        { numbers: "text" }
      )
      yield* withClient(
        async (memory) => {
          assert.deepStrictEqual(await memory.import(exported, { dryRun: true }), { tables: 1, rows: 1 })
          assert.deepStrictEqual(await memory.tables(), [])
          assert.deepStrictEqual(await memory.import(exported), { tables: 1, rows: 1 })
          assert.deepStrictEqual(await memory.export(), exported)
          const error = (await rejection(memory.import(exported))) as AgentMemoryError
          assert.deepInclude({ ...error }, { code: "id_exists", matches: 1 })
        },
        { numbers: "text" }
      )
    })
  )

  it.effect("shows usage and limits", () =>
    withClient(async (memory) => {
      await memory.table("notes").add({ text: "…" })
      const { key, limits, rows } = await memory.usage()
      assert.deepStrictEqual([key.name, rows, limits.rows_per_table], ["test", 1, 1000])
    })
  )

  it.effect("makes links to a row, a text field and a query", () =>
    withClient(async (memory, { baseUrl }) => {
      const notes = memory.table("notes")
      const { id } = await notes.add({ text: "# Title", n: 1 })
      const link = await memory.links.row({ table: "notes", id })
      assert.isTrue(link.editable)
      const download = await fetch(link.download_url.replace("http://localhost:3000", baseUrl), {
        headers: { host: "localhost:3000" }
      })
      assert.strictEqual(download.status, 200)
      assert.isTrue((await memory.links.textField({ table: "notes", id, field: "text" })).editable)
      const query = await memory.links.query({ table: "notes", filter: { n: 1 }, sort: "-n", limit: 5 })
      assert.isFalse(query.editable)
    })
  )

  it.effect("creates, lists and revokes keys", () =>
    withClient(async (memory, { baseUrl }) => {
      const created = await memory.keys.create("app")
      const app = createClient({ apiKey: created.api_key, baseUrl })
      assert.include(
        (await app.keys.list()).map(({ name }) => name),
        "app"
      )
      assert.strictEqual(await memory.keys.revoke(created.id), 1)
      assert.strictEqual(await memory.keys.revoke("unknown/.."), 0)
      assert.strictEqual(((await rejection(app.tables())) as AgentMemoryError).code, "unauthenticated")
    })
  )

  it.effect("lists connections and ends them", () =>
    withClient(async (memory) => {
      assert.deepStrictEqual(await memory.connections.list(), [])
      assert.strictEqual(await memory.connections.revoke("unknown"), 0)
    })
  )

  it.effect("signs in by e-mail", () =>
    Effect.gen(function* () {
      const { url: baseUrl } = yield* BaseUrl
      const secret = yield* localSecret
      yield* Effect.promise(async () => {
        const signIn = createSignIn({ baseUrl, localSecret: secret })
        const { dev_magic_link: link } = await signIn.magicLink("ada@example.com")
        const token = new URL(link!).searchParams.get("token")!
        const { api_key: apiKey } = await signIn.verify(token)
        assert.deepStrictEqual(await createClient({ apiKey, baseUrl }).tables(), [])
        assert.deepInclude(
          { ...((await rejection(signIn.verify(token))) as AgentMemoryError) },
          { code: "invalid_token" }
        )
      })
    })
  )
})
