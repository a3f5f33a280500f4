import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { Recount } from "../../../src/server/retention/Maintenance.ts"
import { RetentionRepo } from "../../../src/server/retention/RetentionRepo.ts"
import { Sweeper } from "../../../src/server/retention/Sweeper.ts"
import { Capacity } from "../../../src/server/capacity/Capacity.ts"
import { DatabasePulse } from "../../../src/server/sql/DatabasePulse.ts"
import { EngineLayer } from "../../../src/App.ts"
import { TableCache } from "../../../src/server/tables/engine/cache/TableCache.ts"
import { Writes } from "../../../src/server/tables/Writes.ts"
import { backup, backupId, backupRow, fullBackup } from "../../support/Backups.ts"
import { DatabaseUrl, poolOf, setClock } from "../../support/Database.ts"
import { actorNow } from "../../support/Instances.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { settingsLayer } from "../../../src/testing/layerTest.ts"
import { bodyOf, newAccount, request, serviceLayer, type Answer } from "../../support/TestService.ts"

interface StoredRow {
  readonly id: string
  readonly created_at: string
  readonly updated_at: string
  readonly [field: string]: unknown
}

const post = (key: string, path: string, body: string) => request("POST", path, { key, body })
const imported = (key: string, body: string) => post(key, "/v1/_import", body)
const exported = (key: string) => Effect.map(request("GET", "/v1/_export", { key }), ({ text }) => text)

const ok = (answer: Answer) => {
  assert.oneOf(answer.status, [200, 201], answer.text)
  return answer
}

const rowsOf = Effect.fnUntraced(function* (key: string, table: string, parameters: Record<string, string> = {}) {
  const query = new URLSearchParams(parameters).toString()
  return bodyOf<{ rows: ReadonlyArray<StoredRow> }>(ok(yield* request("GET", `/v1/${table}?${query}`, { key }))).rows
})

const versionsOf = Effect.fnUntraced(function* (key: string, table: string, id: string) {
  const answer = yield* request("GET", `/v1/${table}/versions?id=${id}`, { key })
  return bodyOf<{ versions: ReadonlyArray<{ version: number; row: StoredRow }> }>(answer).versions
})

const restore = (key: string, table: string, id: string, version: number) =>
  post(key, `/v1/${table}/restore`, JSON.stringify({ id, version }))

const remove = (key: string, table: string, id: string) =>
  Effect.map(request("DELETE", `/v1/${table}`, { key, body: JSON.stringify({ filter: { id } }) }), ok)

const Service = Layer.mergeAll(Recount.layer, Sweeper.layer).pipe(
  Layer.provide(RetentionRepo.layer),
  Layer.provideMerge(serviceLayer())
)

layer(Service, { excludeTestServices: true })("Imported rows", (it) => {
  it.effect("are filtered, sorted, counted and upserted like those that were added", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const long = "k".repeat(500)
      const rows = [
        backupRow(1, '"name":"a","n":2.0', { created: "2020-01-01T00:00:00.000Z" }),
        backupRow(2, `"name":"${long}","n":10`),
        backupRow(3, '"name":"b","n":"2"')
      ]
      ok(yield* imported(key, backup({ notes: rows })))
      const ids = (found: ReadonlyArray<StoredRow>) => found.map(({ id }) => id)
      const [one, two, three] = [1, 2, 3].map(backupId)
      assert.deepStrictEqual(ids(yield* rowsOf(key, "notes", { filter: '{"n":2}' })), [one])
      assert.deepStrictEqual(ids(yield* rowsOf(key, "notes", { filter: JSON.stringify({ name: long }) })), [two])
      assert.deepStrictEqual(ids(yield* rowsOf(key, "notes", { filter: JSON.stringify({ id: three }) })), [three])
      assert.deepStrictEqual(
        ids(yield* rowsOf(key, "notes", { filter: '{"created_at":"2020-01-01T00:00:00.000Z"}' })),
        [one]
      )
      assert.deepStrictEqual(ids(yield* rowsOf(key, "notes", { sort: "-n" })), [three, two, one])
      assert.deepStrictEqual(ids(yield* rowsOf(key, "notes", { sort: "-created_at" })), [three, two, one])
      const upserted = ok(yield* post(key, "/v1/notes/upsert", `{"key":"name","row":{"name":"${long}","n":3}}`))
      const { created, row } = bodyOf<{ created: boolean; row: StoredRow }>(upserted)
      assert.deepStrictEqual([created, row.id, row.created_at], [false, two, "2026-11-27T20:07:59.549Z"])
      assert.deepStrictEqual(
        (yield* versionsOf(key, "notes", backupId(2))).map(({ row, version }) => [version, row["n"]]),
        [[1, 10]]
      )
      ok(yield* restore(key, "notes", backupId(2), 1))
      assert.deepStrictEqual(ids(yield* rowsOf(key, "notes")), [one, two, three])
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("keep their new place and creation once a version from before the import is restored", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const created = "2026-11-26T10:00:00.000Z"
      ok(yield* imported(key, backup({ notes: [backupRow(1), backupRow(2)] })))
      yield* remove(key, "notes", backupId(1))
      ok(yield* imported(key, backup({ notes: [backupRow(1, "", { created })] })))
      ok(yield* post(key, "/v1/notes/update_row", JSON.stringify({ id: backupId(1), patch: { n: 1 } })))
      yield* remove(key, "notes", backupId(1))
      ok(yield* restore(key, "notes", backupId(1), 1))
      const rows = yield* rowsOf(key, "notes")
      assert.deepStrictEqual(
        rows.map(({ id }) => id),
        [backupId(2), backupId(1)]
      )
      assert.strictEqual(rows[1]!.created_at, created)
    })
  )

  it.effect("come back where they were deleted, behind the others, and their versions go on", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      ok(yield* imported(key, backup({ notes: [backupRow(1, '"n":0'), backupRow(2)] })))
      for (const n of [1, 2]) {
        ok(yield* post(key, "/v1/notes/update_row", JSON.stringify({ id: backupId(1), patch: { n } })))
      }
      const saved = yield* exported(key)
      yield* remove(key, "notes", backupId(1))
      yield* remove(key, "notes", backupId(2))
      ok(yield* imported(key, saved))
      assert.strictEqual(yield* exported(key), saved)
      const numbered = Effect.map(versionsOf(key, "notes", backupId(1)), (versions) =>
        versions.map(({ row, version }) => [version, row["n"]])
      )
      assert.deepStrictEqual(yield* numbered, [
        [3, 2],
        [2, 1],
        [1, 0]
      ])
      // Live again, changed, deleted, and restored from before the import: one row with one history all along.
      ok(yield* post(key, "/v1/notes/update_row", JSON.stringify({ id: backupId(1), patch: { n: 3 } })))
      yield* remove(key, "notes", backupId(1))
      ok(yield* restore(key, "notes", backupId(1), 1))
      assert.deepStrictEqual(
        (yield* rowsOf(key, "notes")).map(({ id, n }) => [id, n]),
        [
          [backupId(1), 0],
          [backupId(2), undefined]
        ]
      )
      assert.deepStrictEqual(
        (yield* numbered).map(([version]) => version),
        [5, 4, 3, 2, 1]
      )
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("may not take the id of a row that another table can still restore", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      ok(yield* imported(key, backup({ notes: [backupRow(1)] })))
      yield* remove(key, "notes", backupId(1))
      const refused = yield* imported(key, backup({ other: [backupRow(2), backupRow(1)] }))
      assert.strictEqual(refused.status, 400)
      const { code, errors } = bodyOf<{ code: string; errors: ReadonlyArray<{ path: string; message: string }> }>(
        refused
      )
      assert.strictEqual(code, "id_exists")
      assert.deepStrictEqual(errors, [
        {
          path: "/tables/other/1/id",
          message: "is the id of a row that was deleted from the table notes, and can be restored there"
        }
      ])
      assert.strictEqual(yield* exported(key), '{"tables":{}}')
      ok(yield* restore(key, "notes", backupId(1), 1))
    })
  )

  it.effect("may take the id of what no table can restore any more, swept or not", () =>
    Effect.gen(function* () {
      const accounts = yield* Effect.all([newAccount, newAccount])
      for (const { apiKey: key } of accounts) {
        ok(yield* imported(key, backup({ notes: [backupRow(1, '"n":1')] })))
        yield* remove(key, "notes", backupId(1))
      }
      yield* setClock("31 days")
      const same = backup({ notes: [backupRow(1, '"n":2')] })
      const elsewhere = backup({ other: [backupRow(1, '"n":2')] })
      ok(yield* imported(accounts[0].apiKey, same))
      ok(yield* imported(accounts[1].apiKey, elsewhere))
      ok(yield* post(accounts[0].apiKey, "/v1/notes/update_row", JSON.stringify({ id: backupId(1), patch: { n: 3 } })))
      yield* Effect.flatMap(Sweeper, (sweeper) => sweeper.sweep)
      yield* remove(accounts[0].apiKey, "notes", backupId(1))
      ok(yield* imported(accounts[0].apiKey, same))
      assert.deepStrictEqual(
        (yield* versionsOf(accounts[0].apiKey, "notes", backupId(1))).map(({ row }) => row["n"]),
        [3, 2]
      )
      yield* setClock("0 days")
      for (const { accountId } of accounts) assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are there before or after each write that came at the same time, and none is lost", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const first = fullBackup(3, 300, 4000)
      const add = (n: number) => post(key, "/v1/table00", `{"added":${n}}`)
      const upsert = (n: number) => post(key, "/v1/table01/upsert", `{"key":"n","row":{"n":${300 + n},"again":true}}`)
      const writes = Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? add(n) : upsert(n)))
      const answers = yield* Effect.all([...writes.slice(0, 20), imported(key, first), ...writes.slice(20)], {
        concurrency: "unbounded"
      })
      for (const answer of answers) ok(answer)
      assert.strictEqual(answers[20]!.text, '{"tables":3,"rows":900}')
      const counts = yield* Effect.forEach(["table00", "table01", "table02"], (table) =>
        Effect.map(
          request("GET", `/v1/${table}/count`, { key }),
          ({ text }) => bodyOf<{ count: number }>({ text } as Answer).count
        )
      )
      const created = answers.filter(({ text }) => text.startsWith('{"created":true')).length
      assert.deepStrictEqual(counts, [320, 300 + created, 300])
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are refused, and nothing is written, where one of the tables would have a row too many", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      ok(yield* post(key, "/v1/table02", "{}"))
      const before = yield* exported(key)
      const refused = yield* imported(key, fullBackup(3, 1000, 1000))
      assert.deepInclude(bodyOf<object>(refused), { code: "row_limit", limit: 1000, current: 1, status: 400 })
      assert.strictEqual(yield* exported(key), before)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("are all there or none when a statement of the import fails", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const sql = yield* SqlClient.SqlClient
      ok(yield* post(key, "/v1/notes", '{"n":1}'))
      const before = yield* exported(key)
      // The row of the last of several slices cannot be stored.
      yield* sql`
        ALTER TABLE rows ADD CONSTRAINT no_last CHECK (id <> ${sql.literal(`'${backupId(2999)}'`)})
      `
      const all = fullBackup(3, 1000, 1500)
      assert.strictEqual((yield* imported(key, all)).status, 500)
      assert.strictEqual(yield* exported(key), before)
      assert.isUndefined(yield* countersFault(accountId))
      yield* sql`ALTER TABLE rows DROP CONSTRAINT no_last`
      assert.strictEqual(ok(yield* imported(key, all)).text, '{"tables":3,"rows":3000}')
      ok(yield* post(key, "/v1/notes", '{"n":2}'))
      assert.deepStrictEqual(
        (yield* rowsOf(key, "notes")).map(({ n }) => n),
        [1, 2]
      )
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("count for another instance that remembers the account as it was", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const { url } = yield* DatabaseUrl
      const other = yield* Layer.build(
        Layer.fresh(
          Layer.provide(Writes.layer, EngineLayer).pipe(
            Layer.provide([DatabasePulse.layer, Capacity.layer, TableCache.layer]),
            Layer.provide(Layer.effect(SqlClient.SqlClient, poolOf(url)))
          )
        ).pipe(Layer.provide(settingsLayer()))
      )
      const run = Effect.fnUntraced(function* (rows: ReadonlyArray<string>) {
        return yield* Context.get(other, Writes).import(
          yield* actorNow(accountId),
          {},
          { notes: rows.map((row) => JsonText.trusted(row)) }
        )
      })
      yield* run([backupRow(1)])
      ok(yield* post(key, "/v1/notes", '{"n":2}'))
      yield* run([backupRow(3)])
      ok(yield* post(key, "/v1/notes", '{"n":4}'))
      ok(yield* imported(key, backup({ notes: [backupRow(5)] })))
      const refused = yield* Effect.flip(run([backupRow(5)]))
      assert.strictEqual(refused._tag, "IdExists")
      yield* run([backupRow(6)])
      const rows = yield* rowsOf(key, "notes")
      assert.deepStrictEqual(
        rows.map(({ id, n }) => n ?? id),
        [backupId(1), 2, backupId(3), 4, backupId(5), backupId(6)]
      )
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("leave no counter that a recount would find wrong", () =>
    Effect.gen(function* () {
      const { drifted } = yield* Effect.flatMap(Recount, (recount) => recount.run)
      assert.strictEqual(drifted, 0)
    })
  )
})
