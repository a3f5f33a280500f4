import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { backup as body, backupId as idOf, backupRow as row, fullBackup } from "../../support/Backups.ts"
import { setClock } from "../../support/Database.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, wire } from "./Wire.ts"
import { big, exported, importBody, nested, smallLimits } from "./ImportCalls.ts"

layer(serviceLayer(smallLimits))("An import", (it) => {
  it.effect("gives back what was exported, byte by byte", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const { apiKey: other } = yield* newAccount
      const odd = String.raw`"":1.10,"__proto__":12345678901234567890,"constructor":"\u0000\ud800","10":1e400,"2":{"b":[],"a":null}`
      // The order of the rows is neither that of their ids nor of their times.
      const rows = [
        row(9, odd),
        row(3),
        row(5, `"deep":${nested(99)}`, { created: "1970-01-01T00:00:00.000Z" }),
        row(4, '"é":"日本"', { created: "2020-02-29T23:59:59.999Z", updated: "2020-02-29T23:59:59.999Z" })
      ]
      const all = body({ B: [row(1)], a: rows, b: [row(2, '"n":1')] })
      const answer = yield* importBody(key, all)
      assert.strictEqual(answer.status, 200, answer.text)
      assert.strictEqual(answer.text, '{"tables":3,"rows":6}')
      const text = yield* exported(key)
      assert.strictEqual(text, all)
      assert.strictEqual((yield* importBody(other, text)).text, '{"tables":3,"rows":6}')
      assert.strictEqual(yield* exported(other), text)
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("takes tables and members in any order, and white space", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const spaced = ` { "tables" : { "b" : [ ] , "a" : [ { "n" : 1.0 , "updated_at" : "2026-11-27T20:07:59.549Z" , "created_at" : "2026-11-27T20:07:59.549Z" , "\\u0069d" : "${idOf(1)}" } ] } } `
      assert.strictEqual((yield* importBody(key, spaced)).text, '{"tables":1,"rows":1}')
      assert.strictEqual(yield* exported(key), body({ a: [row(1, '"n":1.0')] }))
    })
  )

  it.effect("bears with a clock that is some minutes ahead, and no more", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const minutesAhead = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString()
      const near = row(1, "", { updated: minutesAhead(4) })
      assert.strictEqual((yield* importBody(key, body({ a: [near] }))).text, '{"tables":1,"rows":1}')
      const far = row(2, "", { updated: minutesAhead(6) })
      assertProblem(yield* importBody(key, body({ a: [far] })), 400, "invalid_request")
      // Times of a row grow from where they are.
      const patched = yield* wire("POST", "/v1/a/update_row", { key, body: `{"id":"${idOf(1)}","patch":{}}` })
      assert.isAbove(Date.parse(jsonOf<{ row: { updated_at: string } }>(patched).row.updated_at), Date.now() + 180_000)
    })
  )

  it.effect("of nothing changes nothing", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      assert.strictEqual((yield* importBody(key, '{"tables":{}}')).text, '{"tables":0,"rows":0}')
      assert.strictEqual(yield* exported(key), '{"tables":{}}')
    })
  )

  it.effect("puts rows behind those that a table has", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      yield* importBody(key, body({ a: [row(5)] }))
      yield* importBody(key, body({ a: [row(3), row(4)] }))
      const added = jsonOf<{ id: string }>(yield* wire("POST", "/v1/a", { key, body: "{}" })).id
      const { rows } = jsonOf<{ rows: Array<{ id: string }> }>(yield* wire("GET", "/v1/a", { key }))
      assert.deepStrictEqual(
        rows.map(({ id }) => id),
        [idOf(5), idOf(3), idOf(4), added]
      )
    })
  )

  it.effect("fills an account up to its limits", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const full = body({
        a: [row(1, big(1000)), row(2, big(1000))],
        b: [row(3, big(992))],
        c: [row(4), row(5), row(6), row(7)]
      })
      assert.strictEqual((yield* importBody(key, full)).text, '{"tables":3,"rows":7}')
      assertProblem(yield* wire("POST", "/v1/a", { key, body: "{}" }), 413, "storage_limit")
    })
  )

  it.effect("as a dry run answers what it would, and changes nothing", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const one = body({ a: [row(1)] })
      const dry = yield* importBody(key, one, { query: "?dry_run=true", headers: { "idempotency-key": "k" } })
      assert.strictEqual(dry.text, '{"tables":1,"rows":1}')
      assert.strictEqual(yield* exported(key), '{"tables":{}}')
      const wet = yield* importBody(key, one, { query: "?dry_run=false", headers: { "idempotency-key": "k" } })
      assert.isUndefined(wet.headers["idempotent-replayed"])
      assert.strictEqual(yield* exported(key), one)
      assert.isUndefined(yield* countersFault(accountId))
      const problem = assertProblem(yield* importBody(key, one, { query: "?dry_run=yes" }), 400, "invalid_request")
      assert.deepStrictEqual(pathsOf(problem), ["dry_run"])
      assertProblem(yield* importBody(key, one, { query: "?dryrun=true" }), 400, "invalid_request")
    })
  )

  it.effect("that is repeated with its Idempotency-Key gives the first answer, and another body none", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const headers = { "idempotency-key": "backup" }
      const answers = yield* Effect.all(
        Array.from({ length: 10 }, () => importBody(key, body({ a: [row(1)], b: [row(2)] }), { headers })),
        { concurrency: "unbounded" }
      )
      for (const { status, text } of answers) assert.strictEqual(`${status} ${text}`, '200 {"tables":2,"rows":2}')
      assert.lengthOf(
        answers.filter((answer) => answer.headers["idempotent-replayed"] === "true"),
        9
      )
      for (const other of [body({ a: [row(1)] }), body({ a: [row(1)], c: [row(2)] }), body({ a: [row(1), row(2)] })]) {
        assertProblem(yield* importBody(key, other, { headers }), 400, "idempotency_key_reused")
      }
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("gives rows their order, whatever their ids and times are", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = [3, 1, 2].map((n) => row(n, '"k":1', { created: `20${20 - n}-01-01T00:00:00.000Z` }))
      const all = body({ notes: rows })
      assert.strictEqual((yield* importBody(key, all)).status, 200)
      assert.strictEqual(yield* exported(key), all)
      const patch = JSON.stringify({ filter: { k: 1 }, patch: { k: 2 }, allowMultiple: true })
      const updated = jsonOf<{ rows: ReadonlyArray<{ id: string }> }>(
        yield* wire("POST", "/v1/notes/update_where", { key, body: patch })
      )
      assert.deepStrictEqual(
        updated.rows.map(({ id }) => id),
        [3, 1, 2].map(idOf)
      )
    })
  )

  it.effect("takes back what its own table can restore, though another one had the id long ago", () =>
    Effect.gen(function* () {
      yield* setClock("0 days")
      const { apiKey: key } = yield* newAccount
      const taken = Effect.fnUntraced(function* (table: string) {
        const imported = yield* importBody(key, body({ [table]: [row(1)] }))
        yield* wire("DELETE", `/v1/${table}`, { key, body: JSON.stringify({ filter: { id: idOf(1) } }) })
        return imported.status
      })
      assert.strictEqual(yield* taken("first"), 200)
      yield* setClock("31 days")
      assert.strictEqual(yield* taken("second"), 200)
      assert.strictEqual(yield* taken("second"), 200)
      yield* setClock("0 days")
    })
  )

  it.effect("names the first ten of many rows that are there already, and how many they are", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const rows = (from: number) => [0, 1, 2, 3].map((n) => row(from + n))
      const all = body({ a: rows(1), b: rows(5), c: rows(9) })
      yield* importBody(key, all)
      const problem = assertProblem(yield* importBody(key, all), 400, "id_exists")
      assert.lengthOf(pathsOf(problem), 10)
      assert.include(problem.detail, "12 of the rows")
    })
  )
})

layer(serviceLayer({ LIMIT_STORAGE_BYTES: "26214400" }))("The body of an import", (it) => {
  it.effect("is carried out once under its Idempotency-Key, also where it is stored in several parts", () =>
    Effect.gen(function* () {
      const { accountId, apiKey: key } = yield* newAccount
      const large = fullBackup(1, 50, 60_000)
      for (const replayed of [undefined, "true"]) {
        const answer = yield* importBody(key, large, { headers: { "idempotency-key": "backup" } })
        assert.deepStrictEqual(
          [answer.status, answer.text, answer.headers["idempotent-replayed"]],
          [200, '{"tables":1,"rows":50}', replayed]
        )
      }
      assert.isUndefined(yield* countersFault(accountId))
    })
  )

  it.effect("may be larger than other bodies, up to 32 MB", () =>
    Effect.gen(function* () {
      const { apiKey: key } = yield* newAccount
      const padded = (bytes: number) => '{"tables":{}}'.padEnd(bytes, " ")
      assert.strictEqual((yield* importBody(key, padded(33_554_432))).text, '{"tables":0,"rows":0}')
      const problem = assertProblem(yield* importBody(key, padded(33_554_433)), 413, "request_too_large")
      assert.strictEqual(problem.limit, 33_554_432)
    })
  )
})
