import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { request, serviceLayer } from "../../../support/TestService.ts"
import { newOwner } from "./Person.ts"

const changesOf = (text: string): ReadonlyArray<string> =>
  [...text.matchAll(/name="change" value="(\d+)"/g)].map(([, change]) => change!)

layer(serviceLayer(), { excludeTestServices: true, timeout: 60_000 })("The page of activity", (it) => {
  it.effect("lists what was done and by whom, newest first, and takes an agent's last write back as a whole", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("tasks", '{"done":false,"n":1.10}')
      const operations = JSON.stringify({
        operations: [
          { action: "update_row", id, patch: { done: true } },
          { action: "add", row: { other: 1 } }
        ]
      })
      yield* request("POST", "/v1/tasks/batch", { key: owner.apiKey, body: operations })
      const page = yield* owner.get("/activity")
      assert.strictEqual(changesOf(page.text).length, 2)
      assert.include(page.text, "the API key")
      const undone = yield* owner.post("/activity/_undo", { change: changesOf(page.text)[0]! })
      assert.strictEqual(undone.headers.get("location"), "/activity?undone=1", undone.text)
      assert.strictEqual(yield* owner.row("tasks", id), '"done":false,"n":1.10')
      assert.strictEqual((yield* request("GET", "/v1/tasks/count", { key: owner.apiKey })).text, '{"count":1}')
      const after = yield* owner.get("/activity?undone=1")
      assert.include(after.text, "The write was taken back.")
      assert.include(after.text, '<span class="muted">by</span> you')
      yield* owner.post("/activity/_undo", { change: changesOf(after.text)[0]! })
      assert.strictEqual(yield* owner.row("tasks", id), '"done":true,"n":1.10')
    })
  )

  it.effect("undoes nothing where a row was changed since, nor of another account, and says so", () =>
    Effect.gen(function* () {
      const [owner, other] = [yield* newOwner, yield* newOwner]
      const { id } = yield* owner.add("tasks", '{"n":1}')
      const first = changesOf((yield* owner.get("/activity")).text)[0]!
      const patch = JSON.stringify({ id, patch: { n: 2 } })
      yield* request("POST", "/v1/tasks/update_row", { key: owner.apiKey, body: patch })
      const refused = yield* owner.post("/activity/_undo", { change: first })
      assert.strictEqual(refused.status, 409)
      assert.include(refused.text, "Nothing was undone.")
      for (const change of [first, "0", "x"]) {
        assert.strictEqual((yield* other.post("/activity/_undo", { change })).status, 409)
      }
      assert.strictEqual(yield* owner.row("tasks", id), '"n":2')
    })
  )

  it.effect("is filtered by table and by who made the changes", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      yield* owner.add("a", "{}")
      yield* owner.add("b", "{}")
      yield* owner.post("/tables", { name: "c", row: "{}" })
      assert.strictEqual(changesOf((yield* owner.get("/activity?table=a")).text).length, 1)
      assert.strictEqual(changesOf((yield* owner.get(`/activity?by=${owner.accountId}`)).text).length, 1)
      assert.strictEqual(changesOf((yield* owner.get("/activity?table=")).text).length, 3)
    })
  )

  it.effect("shows deleted rows of a table, and brings one back", () =>
    Effect.gen(function* () {
      const owner = yield* newOwner
      const { id } = yield* owner.add("tasks", '{"title":"<b>gone</b>"}')
      yield* owner.post(`/tables/tasks/${id}/_delete`, {})
      const page = yield* owner.get("/activity/deleted?table=tasks")
      assert.include(page.text, "&lt;b&gt;gone&lt;/b&gt;")
      const version = /name="version" value="(\d+)"/.exec(page.text)?.[1] ?? ""
      assert.strictEqual((yield* owner.post(`/tables/tasks/${id}/_restore`, { version })).status, 303)
      assert.include((yield* owner.get("/activity/deleted")).text, "No deleted row is kept")
    })
  )
})
