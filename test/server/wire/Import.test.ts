import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { backup as body, backupId as idOf, backupRow as row, fullBackup } from "../../support/Backups.ts"
import { setClock } from "../../support/Database.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, jsonOf, pathsOf, wire, type WireRequest } from "./Wire.ts"

const importBody = (key: string, body: string, { query = "", ...options }: WireRequest & { query?: string } = {}) =>
  wire("POST", `/v1/_import${query}`, { key, body, ...options })

const exported = (key: string) => Effect.map(wire("GET", "/v1/_export", { key }), ({ text }) => text)

const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels)

const variables = {
  LIMIT_TABLES: "3",
  LIMIT_ROWS_PER_TABLE: "4",
  LIMIT_ROW_BYTES: "1000",
  LIMIT_STORAGE_BYTES: "3000"
}

interface Refusal {
  readonly what: string
  readonly body: string
  readonly status?: number
  readonly code?: string
  readonly path?: string
  /** What is told of the account; nothing where it was not looked at. */
  readonly current?: number
}

const big = (bytes: number) => `"t":"${"x".repeat(bytes - 8)}"`

/** Bodies that an account with the row 1 in the table `notes` refuses. */
const refusals: ReadonlyArray<Refusal> = [
  { what: "no JSON", body: '{"tables":{"notes":[{]}}', code: "invalid_json", path: "/tables/notes/0" },
  { what: "an unknown member", body: '{"tables":{},"links":{}}', path: "/links" },
  { what: "no tables", body: "{}", path: "/tables" },
  { what: "tables that are a list", body: '{"tables":[]}', path: "/tables" },
  { what: "a table that is no list", body: '{"tables":{"notes":{}}}', path: "/tables/notes" },
  { what: "a table that stands twice", body: '{"tables":{"a":[],"a":[]}}', code: "duplicate_field", path: "/tables/a" },
  { what: "a name of no table", body: body({ _notes: [] }), code: "invalid_table_name", path: "/tables/_notes" },
  {
    what: "a name that JavaScript keeps",
    body: body({ ["__proto__"]: [row(2)] }),
    code: "invalid_table_name",
    path: "/tables/__proto__"
  },
  { what: "a row that is no object", body: body({ notes: [row(2), "7"] }), path: "/tables/notes/1" },
  { what: "a field that stands twice", body: body({ notes: [row(2, '"a":1,"a":2')] }), code: "duplicate_field" },
  { what: "101 levels", body: body({ notes: [row(2, `"a":${nested(100)}`)] }), code: "too_deep" },
  { what: "no id", body: body({ notes: [row(2).replace('"id"', '"ID"')] }), path: "/tables/notes/0/id" },
  { what: "an id that is no UUID", body: body({ notes: [row(2, "", { id: "7" })] }), path: "/tables/notes/0/id" },
  {
    what: "an id in capitals",
    body: body({ notes: [row(2, "", { id: idOf(10).toUpperCase() })] }),
    path: "/tables/notes/0/id"
  },
  {
    what: "an id that is a number",
    body: body({ notes: [row(2).replace(`"${idOf(2)}"`, "2")] }),
    path: "/tables/notes/0/id"
  },
  {
    what: "an id that stands twice, in two tables",
    body: body({ notes: [row(2)], other: [row(3), row(2)] }),
    path: "/tables/other/1/id"
  },
  {
    what: "no time of creation",
    body: body({ notes: [row(2).replace("created_at", "created")] }),
    path: "/tables/notes/0/created_at"
  },
  ...[
    "2026-11-27T20:07:59Z",
    "2026-11-27T20:07:59.549+00:00",
    "2026-02-30T00:00:00.000Z",
    "-000001-01-01T00:00:00.000Z"
  ].map((updated) => ({
    what: `the time ${updated}`,
    body: body({ notes: [row(2, "", { created: "1970-01-01T00:00:00.000Z", updated })] }),
    path: "/tables/notes/0/updated_at"
  })),
  {
    what: "a time in the future",
    body: body({ notes: [row(2, "", { updated: "9999-01-01T00:00:00.000Z" })] }),
    path: "/tables/notes/0/updated_at"
  },
  {
    what: "an update before the creation",
    body: body({ notes: [row(2, "", { updated: "2026-11-27T20:07:59.548Z" })] }),
    path: "/tables/notes/0/updated_at"
  },
  {
    what: "a row that is too large",
    body: body({ notes: [row(2), row(3, big(1001))] }),
    status: 413,
    code: "row_too_large",
    path: "/tables/notes/1"
  },
  {
    what: "an id that a row has",
    body: body({ notes: [row(2), row(1)] }),
    code: "id_exists",
    path: "/tables/notes/1/id"
  },
  {
    what: "an id that a row of another table has",
    body: body({ other: [row(1)] }),
    code: "id_exists",
    path: "/tables/other/0/id"
  },
  { what: "a table too many", body: body({ a: [row(2)], b: [row(3)], c: [row(4)] }), code: "table_limit", current: 1 },
  { what: "a row too many", body: body({ a: [2, 3, 4, 5, 6].map((n) => row(n)) }), code: "row_limit" },
  {
    what: "a row too many, before what comes behind it is looked at",
    body: `{"tables":{"a":[${[2, 3, 4, 5, 6].map((n) => row(n)).join()},no JSON`,
    code: "row_limit"
  },
  { what: "tables too many, though they are empty", body: body({ a: [], b: [], c: [], d: [] }), code: "table_limit" },
  {
    what: "a table too many, before what comes behind it is looked at",
    body: '{"tables":{"a":[],"b":[],"c":[],"d":no JSON',
    code: "table_limit"
  },
  {
    what: "more bytes in one row than any has, whose members stand twice",
    body: body({ notes: [row(2, `${big(70_000)},"a":1,"a":2`)] }),
    status: 413,
    code: "row_too_large",
    path: "/tables/notes/0"
  },
  {
    what: "a row more than fits beside those of the table",
    body: body({ notes: [2, 3, 4, 5].map((n) => row(n)) }),
    code: "row_limit",
    current: 1
  },
  {
    what: "more bytes than the account may hold",
    body: body({ a: [row(2, big(1000)), row(3, big(1000))], b: [row(4, big(994))] }),
    status: 413,
    code: "storage_limit"
  }
]

layer(serviceLayer(variables))("An import", (it) => {
  for (const { body: sent, code = "invalid_request", current, path, status = 400, what } of refusals) {
    it.effect(`with ${what} is refused, and changes nothing`, () =>
      Effect.gen(function* () {
        const { accountId, apiKey: key } = yield* newAccount
        yield* importBody(key, body({ notes: [row(1, '"a":1')] }))
        const before = yield* exported(key)
        const problem = assertProblem(yield* importBody(key, sent), status, code)
        if (path !== undefined) assert.deepStrictEqual(pathsOf(problem), [path])
        if (code === "table_limit" || code === "row_limit") assert.strictEqual(problem.current, current)
        assert.deepStrictEqual(
          assertProblem(yield* importBody(key, sent, { query: "?dry_run=true" }), status, code).errors,
          problem.errors
        )
        assert.strictEqual(yield* exported(key), before)
        assert.isUndefined(yield* countersFault(accountId))
      })
    )
  }

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
