import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { backup as body, backupId as idOf, backupRow as row } from "../../support/Backups.ts"
import { countersFault } from "../../support/ModelRun.ts"
import { newAccount, serviceLayer } from "../../support/TestService.ts"
import { assertProblem, pathsOf } from "./Wire.ts"
import { big, exported, importBody, nested, smallLimits } from "./ImportCalls.ts"

interface Refusal {
  readonly what: string
  readonly body: string
  readonly status?: number
  readonly code?: string
  readonly path?: string
  /** What is told of the account; nothing where it was not looked at. */
  readonly current?: number
}

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

layer(serviceLayer(smallLimits))("An import", (it) => {
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
})
