import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { wholeAccount } from "../../../src/domain/Actor.ts"
import { Keys } from "../../../src/server/keys/Keys.ts"
import { setClock } from "../../support/Database.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { bodyOf, newAccount, request, serviceLayer } from "../../support/TestService.ts"

interface Row {
  readonly id: string
  readonly created_at: string
  readonly updated_at: string
  readonly n?: number
}

interface Version {
  readonly version: number
  readonly id: string
  readonly table: string
  readonly operation: string
  readonly changed_by: unknown
  readonly archived_at: string
  readonly expires_at: string
  readonly row: Row
}

const day = 86_400_000

const add = Effect.fnUntraced(function* (key: string, n: number) {
  return bodyOf<Row>(yield* request("POST", "/v1/notes", { key, body: `{"n":${n}}` }))
})

const patch = Effect.fnUntraced(function* (key: string, id: string, n: number) {
  const body = JSON.stringify({ id, patch: { n } })
  return bodyOf<{ row: Row }>(yield* request("POST", "/v1/notes/update_row", { key, body })).row
})

const remove = (key: string, id: string) =>
  request("DELETE", "/v1/notes", { key, body: JSON.stringify({ filter: { id } }) })

const restore = (key: string, id: string, version: number) =>
  request("POST", "/v1/notes/restore", { key, body: JSON.stringify({ id, version }) })

const versions = Effect.fnUntraced(function* (key: string, id: string) {
  return bodyOf<{ versions: ReadonlyArray<Version> }>(yield* request("GET", `/v1/notes/versions?id=${id}`, { key }))
    .versions
})

const numbers = (list: ReadonlyArray<Version>) => list.map((one) => one.version)

const rows = Effect.fnUntraced(function* (key: string) {
  return bodyOf<{ rows: ReadonlyArray<Row> }>(yield* request("GET", "/v1/notes", { key })).rows
})

layer(serviceLayer(), { excludeTestServices: true })("Versions", (it) => {
  it.effect("tell what was replaced, by what and by whom, newest first", () =>
    Effect.gen(function* () {
      const keys = yield* Keys
      const { accountId, apiKey: key } = yield* newAccount
      const { api_key: second, id: secondId } = yield* keys.create(wholeAccount(accountId), 'second "key" é')
      const added = yield* add(key, 1)
      const patched = yield* patch(second, added.id, 2)
      yield* remove(key, added.id)
      const list = yield* versions(key, added.id)
      assert.deepStrictEqual(
        list.map(({ id, operation, row, table, version }) => ({ id, operation, row, table, version })),
        [
          { version: 2, id: added.id, table: "notes", operation: "delete", row: patched },
          { version: 1, id: added.id, table: "notes", operation: "update", row: added }
        ]
      )
      assert.deepStrictEqual(list[1]!.changed_by, { kind: "key", id: secondId, name: 'second "key" é' })
      assert.deepInclude(list[0]!.changed_by, { kind: "key", name: "test" })
      assert.strictEqual(list[0]!.archived_at <= new Date().toISOString(), true)
      for (const one of list) assert.strictEqual(Date.parse(one.expires_at) - Date.parse(one.archived_at), 30 * day)
      assert.deepStrictEqual(Object.keys(list[0]!), [
        "version",
        "id",
        "table",
        "operation",
        "change",
        "changed_by",
        "archived_at",
        "expires_at",
        "row"
      ])
    })
  )

  it.effect("are numbered from 1, never twice, also over deletes and restores", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = yield* add(key, 1)
      assert.deepStrictEqual(yield* versions(key, id), [])
      yield* patch(key, id, 2)
      yield* remove(key, id)
      assert.deepStrictEqual(numbers(yield* versions(key, id)), [2, 1])
      yield* restore(key, id, 1)
      assert.deepStrictEqual(numbers(yield* versions(key, id)), [2, 1])
      yield* patch(key, id, 3)
      yield* remove(key, id)
      yield* restore(key, id, 4)
      yield* restore(key, id, 1)
      const list = yield* versions(key, id)
      assert.deepStrictEqual(numbers(list), [5, 4, 3, 2, 1])
      assert.deepStrictEqual(
        list.map((one) => one.operation),
        ["restore", "delete", "update", "delete", "update"]
      )
      assert.deepStrictEqual(
        list.map((one) => one.row.n),
        [3, 3, 1, 2, 1]
      )
    })
  )

  it.effect("are kept ten to a row, and another row's stay", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const [busy, quiet] = [yield* add(key, 0), yield* add(key, 0)]
      yield* patch(key, quiet.id, 1)
      for (let n = 1; n <= 13; n++) yield* patch(key, busy.id, n)
      assert.deepStrictEqual(numbers(yield* versions(key, busy.id)), [13, 12, 11, 10, 9, 8, 7, 6, 5, 4])
      assert.deepStrictEqual(numbers(yield* versions(key, quiet.id)), [1])
      const gone = yield* restore(key, busy.id, 3)
      assert.strictEqual(gone.status, 404)
      assert.strictEqual(bodyOf(gone)["code"], "version_not_found")
      // The restored version becomes the eleventh: it is live now, and its own record goes.
      const restored = yield* restore(key, busy.id, 4)
      assert.strictEqual(bodyOf<{ row: Row }>(restored).row.n, 3)
      assert.deepStrictEqual(numbers(yield* versions(key, busy.id)), [14, 13, 12, 11, 10, 9, 8, 7, 6, 5])
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("archive the live row on a restore, so that it can be undone", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { created_at, id } = yield* add(key, 1)
      const before = yield* patch(key, id, 2)
      const restored = bodyOf<{ row: Row }>(yield* restore(key, id, 1)).row
      assert.deepInclude(restored, { id, created_at, n: 1 })
      assert.isAbove(Date.parse(restored.updated_at), Date.parse(before.updated_at))
      const undone = bodyOf<{ row: Row }>(yield* restore(key, id, 2)).row
      assert.deepInclude(undone, { id, created_at, n: 2 })
      assert.deepStrictEqual(
        (yield* versions(key, id)).map((one) => [one.version, one.operation, one.row.n]),
        [
          [3, "restore", 1],
          [2, "restore", 2],
          [1, "update", 1]
        ]
      )
    })
  )

  it.effect("bring a deleted row back with its id, its time of creation and its place", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const [, middle] = [yield* add(key, 1), yield* add(key, 2), yield* add(key, 3)] as const
      yield* remove(key, middle.id)
      yield* add(key, 4)
      const { status, text } = yield* restore(key, middle.id, 1)
      assert.strictEqual(status, 200)
      const restored = bodyOf<{ row: Row }>({ status, text, headers: new Headers() }).row
      assert.deepInclude(restored, { id: middle.id, created_at: middle.created_at, n: 2 })
      assert.isAbove(Date.parse(restored.updated_at), Date.parse(middle.updated_at))
      assert.deepStrictEqual(
        (yield* rows(key)).map((row) => row.n),
        [1, 2, 3, 4]
      )
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("never let updated_at fall back when a row comes back whose times ran ahead of the clock", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = yield* add(key, 0)
      const operations = Array.from({ length: 100 }, (_, n) => ({ action: "update_row", id, patch: { n } }))
      yield* request("POST", "/v1/notes/batch", { key, body: JSON.stringify({ operations }) })
      yield* remove(key, id)
      const [deleted] = yield* versions(key, id)
      const restored = bodyOf<{ row: Row }>(yield* restore(key, id, deleted!.version)).row
      assert.isAbove(Date.parse(restored.updated_at), Date.parse(deleted!.row.updated_at))
    })
  )

  it.effect("of an unknown row, another table or an odd id are an empty list, and restore none", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const { id } = yield* add(key, 1)
      yield* patch(key, id, 2)
      for (const path of ["/v1/other", "/v1/notes"]) {
        const ids = path === "/v1/other" ? [id] : [crypto.randomUUID(), "", "x", "é😀", id.toUpperCase(), "%00"]
        for (const one of ids) {
          const listed = yield* request("GET", `${path}/versions?id=${one === "%00" ? one : encodeURIComponent(one)}`, {
            key
          })
          assert.strictEqual(listed.text, '{"versions":[]}')
          const body = JSON.stringify({ id: one, version: 1 })
          const restored = yield* request("POST", `${path}/restore`, { key, body })
          assert.strictEqual(bodyOf(restored)["code"], "version_not_found")
        }
      }
      const foreign = (yield* newAccount).apiKey
      assert.deepStrictEqual(yield* versions(foreign, id), [])
      assert.strictEqual(bodyOf(yield* restore(foreign, id, 1))["code"], "version_not_found")
    })
  )
})

layer(serviceLayer(), { excludeTestServices: true })("Versions after a month", (it) => {
  it.effect("are no longer listed or restored, and their numbers are not used again", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const { id } = yield* add(key, 1)
      const deleted = yield* add(key, 5)
      yield* patch(key, id, 2)
      yield* remove(key, deleted.id)
      yield* setClock("29 days 23 hours")
      assert.deepStrictEqual(numbers(yield* versions(key, id)), [1])
      yield* patch(key, id, 3)
      yield* setClock("30 days 1 hour")
      assert.deepStrictEqual(numbers(yield* versions(key, id)), [2])
      assert.strictEqual((yield* restore(key, id, 1)).status, 404)
      assert.deepStrictEqual(yield* versions(key, deleted.id), [])
      assert.strictEqual((yield* restore(key, deleted.id, 1)).status, 404)
      yield* setClock("61 days")
      assert.deepStrictEqual(yield* versions(key, id), [])
      yield* patch(key, id, 4)
      assert.deepStrictEqual(numbers(yield* versions(key, id)), [3])
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).text, '{"tables":[{"name":"notes","rows":1}]}')
      yield* remove(key, id)
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).text, '{"tables":[{"name":"notes","rows":0}]}')
      yield* setClock("92 days")
      assert.strictEqual((yield* request("GET", "/v1/_tables", { key })).text, '{"tables":[]}')
      assert.isUndefined(yield* countersFault(accountId))
    })
  )
})
