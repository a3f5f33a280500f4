import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { callToolText, done, newConnection, rpcOf, type ToolAnswer } from "../../support/Mcp.ts"
import { serviceLayer } from "../../support/TestService.ts"
import { sendModern } from "./Messages.ts"

const known = ["id", "created_at", "updated_at", "change"]

const brief = (token: string, name: string, args: object) =>
  done(token, name, { table: "t", ...args, returnRows: false })

layer(serviceLayer(), { excludeTestServices: true })("The receipts of writes", (it) => {
  it.effect("say which row was written, when, and the number of the change, but not its fields", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const row = { k: 1, text: "x".repeat(5000) }
      const added = yield* brief(token, "add", { row })
      assert.hasAllKeys(added, known)
      const { rows } = yield* done(token, "query", { table: "t" })
      const { id, created_at, updated_at } = (rows as ReadonlyArray<Record<string, string>>)[0]!
      assert.deepInclude(added, { id, created_at, updated_at })
      const replaced = yield* brief(token, "upsert", { key: ["k"], row })
      assert.hasAllKeys(replaced, ["created", ...known])
      assert.deepInclude(replaced, { created: false, id, created_at })
      assert.isAbove(replaced["change"] as number, added["change"] as number)
      assert.hasAllKeys(yield* brief(token, "update_row", { id, patch: { n: 1 } }), known)
      assert.hasAllKeys(yield* brief(token, "restore", { id, version: 1 }), known)
      const noted = yield* brief(token, "update_row", { id, patch: { n: { $inc: 1 } } })
      assert.hasAllKeys(noted, [...known, "note"])
      const memory = { title: "a", content: "x".repeat(5000) }
      const remembered = yield* done(token, "remember", { ...memory, returnRows: false })
      assert.hasAllKeys(remembered, ["created", ...known])
    })
  )

  it.effect("count rows and name them where there may be several", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const operations = [1, 2, 3].map((n) => ({ action: "add", row: { n, g: 1 } }))
      const { results } = yield* brief(token, "batch", {
        operations: [
          ...operations,
          { action: "upsert", key: ["n"], row: { n: 3, g: 1 } },
          { action: "update_where", filter: { n: 1 }, patch: { h: 1 } },
          { action: "delete", filter: { n: 2 } }
        ]
      })
      const told = (results as ReadonlyArray<{ result: Record<string, unknown> }>).map(({ result }) => result)
      const ids = told.slice(0, 3).map(({ id }) => id)
      assert.deepStrictEqual(told, [
        ...ids.map((id) => ({ id })),
        { created: false, id: ids[2] },
        { updated: 1, ids: [ids[0]] },
        { deleted: 1 }
      ])
      const args = { filter: { g: 1 }, patch: { h: 2 }, allowMultiple: true }
      const { change, ...updated } = yield* brief(token, "update_where", args)
      assert.isNumber(change)
      assert.deepStrictEqual(updated, { updated: 2, ids: [ids[0], ids[2]] })
      const many = Array.from({ length: 100 }, (_, n) => ({ action: "add", row: { many: n, m: 1 } }))
      for (let n = 0; n < 6; n++) yield* brief(token, "batch", { operations: many })
      const all = yield* brief(token, "update_where", { filter: { m: 1 }, patch: { h: 2 }, allowMultiple: true })
      assert.deepInclude(all, { updated: 600, has_more: true })
      assert.lengthOf(all["ids"] as ReadonlyArray<string>, 500)
    })
  )

  it.effect("are what a write answers in both eras, and its rows come where they are asked for", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const args = { table: "t", row: { n: 1 } }
      const params = { name: "add", arguments: args }
      const modern = yield* sendModern(token, "tools/call", params, { "mcp-name": "add" })
      assert.hasAllKeys(rpcOf<{ result: ToolAnswer }>(modern).result.structuredContent, known)
      const legacy = yield* callToolText(token, "add", JSON.stringify({ ...args, returnRows: null }))
      assert.hasAllKeys((JSON.parse(legacy) as { result: ToolAnswer }).result.structuredContent, known)
      const { row } = yield* done(token, "add", { ...args, returnRows: true })
      assert.deepInclude(row, { n: 1 })
    })
  )

  it.effect("of a memory note that others have its title, and its type may be left out", () =>
    Effect.gen(function* () {
      const { token } = yield* newConnection()
      const remember = (content: string, more: object = {}) =>
        done(token, "remember", { title: "Theme", content, ...more, returnRows: false })
      const first = yield* remember("light")
      assert.notProperty(first, "note")
      const { note } = yield* remember("dark")
      assert.match(String(note), new RegExp(`^2 memories have this title now, the first with the id ${first["id"]}`))
      yield* done(token, "delete", { table: "memories", filter: { id: first["id"] } })
      const replaced = yield* remember("dim", { key: ["title"] })
      assert.deepInclude(replaced, { created: false })
      assert.notProperty(replaced, "note")
      const { rows } = yield* done(token, "query", { table: "memories", fields: ["type", "content"] })
      assert.deepInclude((rows as ReadonlyArray<object>)[0], { type: "note", content: "dim" })
    })
  )
})
