import { actorNow } from "../../support/Instances.ts"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Result } from "effect"
import { SqlClient } from "effect/sql"
import { createHash, randomUUID } from "node:crypto"
import { rowKeys } from "../../../src/domain/keys/SortKey.ts"
import { parseFilter } from "../../../src/domain/Query.ts"
import { JsonText } from "../../../src/domain/json/JsonText.ts"
import { RetentionRepo } from "../../../src/server/retention/RetentionRepo.ts"
import { AccountId } from "../../../src/domain/Account.ts"
import { texts } from "../../../src/server/sql/SharedSql.ts"
import { Rows } from "../../../src/server/tables/Rows.ts"
import { DatabaseLayer } from "../../support/Database.ts"
import { Readings, ReadingsLayer } from "../../support/Readings.ts"
import { newAccount, serviceOn } from "../../support/TestService.ts"
import { makeLinks } from "../links/LinkCalls.ts"
import { jsonOf, search, wire } from "../wire/Wire.ts"

/** The statements that go through a whole account for a few of its rows, and why. */
const whole: Readonly<Record<string, string>> = {
  "FindHistory.makeIdOwnerFinder": "an import's ids are unique among all tables, and no index begins with the id"
}

/** The readings that must have been looked at: of lists, of one thing, and of a table's rows. */
const needed = [
  "CommitStatement.commitStatement idempotency_records",
  "CommitStatement.commitStatement rows",
  "CommitStatement.commitStatement versions",
  "FindHistory.makeIdOwnerFinder rows",
  "FindHistory.makeIdOwnerFinder versions",
  "Links.open links",
  "RateLimiterRepo.admitOne api_keys",
  "RetentionRepo.removeRecords idempotency_records",
  "RetentionRepo.removeVersions versions",
  "StoredRows.count rows",
  "StoredRows.ids rows",
  "StoredRows.query rows",
  "Tables.listed tables",
  "Versions.stored versions",
  "SnapshotRepo.account tables",
  "SnapshotRepo.recordBytes idempotency_records",
  "SnapshotRepo.records idempotency_records",
  "SnapshotRepo.rows rows",
  "FindHistory.makeVersionFinder versions"
]

const [fullTables, fullRows] = [20, 1000]
/** What one reading may go through for a list of ten, with the blocks of indexes and of what is dead. */
const few = 150
/** And in the search through one table for a field. */
const oneTable = 1.5 * fullRows

const data = `{"kind":"a","text":"${"x".repeat(200)}"}`
const facets = rowKeys(JsonText.trusted(data)).short

/** Fills tables of accounts up to so many rows, each with a version and a record. */
const fill = Effect.fnUntraced(function* (accounts: ReadonlyArray<string>, tables: number, rows: number) {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    WITH filled AS (
      INSERT INTO rows (account_id, table_name, seq, id, created_at, updated_at, last_version, data, facets)
      SELECT a, 't' || t, t * 100000 + n, gen_random_uuid()::text, now, now, 1, ${data}, ${facets}::text::jsonb
      FROM unnest(${texts(accounts)}::text[]) AS a, generate_series(1, ${tables}::integer) AS t,
        generate_series(1, ${rows}::integer) AS n, memory_now() AS now
      ON CONFLICT DO NOTHING
      RETURNING account_id, table_name, seq, id, created_at
    ), archived AS (
      INSERT INTO versions
        (account_id, table_name, row_id, version, seq, created_at, updated_at, data, bytes, operation, changed_by,
         archived_at)
      SELECT account_id, table_name, id, 1, seq, created_at, created_at, ${data}, 1, 'update', '{}', created_at
      FROM filled
    ), remembered AS (
      INSERT INTO idempotency_records (account_id, scope, key, request_hash, answer, bytes, created_at)
      SELECT account_id, table_name, seq::text, '', '{}', 2, created_at FROM filled
    ), counted AS (
      INSERT INTO tables (account_id, name, rows)
      SELECT a, 't' || t, ${rows}::integer
      FROM unnest(${texts(accounts)}::text[]) AS a, generate_series(1, ${tables}::integer) AS t
      ON CONFLICT (account_id, name) DO UPDATE SET rows = excluded.rows
    )
    UPDATE accounts SET revision = revision + 1, next_seq = next_seq + 10000000
    WHERE account_id = ANY(${texts(accounts)})
  `
})

const service = serviceOn(ReadingsLayer.pipe(Layer.provideMerge(DatabaseLayer)), {
  // Every look-up is to be a statement.
  CACHE_BYTES: "0",
  LIMIT_ROWS_PER_TABLE: "2000",
  LIMIT_VERSIONS_PER_ROW: "2"
})

layer(RetentionRepo.layer.pipe(Layer.provideMerge(service)), { excludeTestServices: true })("Look-ups", (it) => {
  let account = { accountId: AccountId.make(""), apiKey: "" }
  const seen = new Set<string>()

  /** The statements that read too much while the account is used, with what they read. */
  const readTooMuch = Effect.fnUntraced(function* (phase: string) {
    const sql = yield* SqlClient.SqlClient
    const readings = yield* Readings
    const { accountId, apiKey: key } = account
    const found: Record<string, string> = {}

    const within = Effect.fnUntraced(function* <A, E, R>(most: number, effect: Effect.Effect<A, E, R>) {
      const during = yield* readings.during(effect)
      for (const { amount, node, statement, table } of during.readings) {
        seen.add(`${statement} ${table}`)
        if (amount > most) found[statement] = `${amount} of ${table} by ${node}`
      }
      return during.value
    })
    const get = (most: number, path: string) =>
      Effect.tap(within(most, wire("GET", path, { key })), ({ status, text }) =>
        Effect.sync(() => assert.strictEqual(status, 200, text))
      )
    const post = Effect.fnUntraced(function* (most: number, path: string, body: string) {
      const headers = { "idempotency-key": createHash("sha256").update(phase).update(body).digest("hex") }
      const { status, text } = yield* within(most, wire("POST", path, { key, body, headers }))
      assert.strictEqual(status, 200, text)
    })
    const batch = (operations: ReadonlyArray<string>) =>
      post(few, "/v1/t1/batch", `{"operations":[${operations.join()}]}`)

    const first = yield* sql<{ id: string }>`
      SELECT id FROM rows WHERE account_id = ${accountId} AND table_name = 't1' ORDER BY seq LIMIT 10
    `
    const ids = first.map((row) => row.id)
    const id = ids[0]!
    const added = ids.map((_, n) => `{"action":"add","row":{"n":"${phase} ${n}"}}`)
    yield* batch(added)
    yield* batch(added)
    for (let m = 0; m < 4; m++) {
      yield* batch(ids.map((one) => `{"action":"update_row","id":"${one}","patch":{"m":"${phase} ${m}"}}`))
    }
    const archive = yield* get(few, `/v1/t1/versions${search({ id })}`)
    const { versions } = jsonOf<{ versions: ReadonlyArray<{ version: number }> }>(archive)
    assert.lengthOf(versions, 2)
    yield* batch(ids.map((one) => `{"action":"delete","filter":{"id":"${one}"}}`))
    for (const one of ids) yield* post(few, "/v1/t1/restore", `{"id":"${one}","version":${versions[0]!.version}}`)
    const filter = `{"id":"${id}"}`
    yield* get(few, `/v1/t1${search({ filter })}`)
    yield* get(few, `/v1/t1${search({ filter, sort: "-n" })}`)
    yield* get(few, `/v1/t1/count${search({ filter })}`)
    const parsed = Result.getOrThrow(parseFilter(JsonText.trusted(filter), "filter"))
    const { matched } = yield* within(few, (yield* Rows).ids(yield* actorNow(accountId), "t1", parsed, 10))
    assert.strictEqual(matched, 1)
    for (const path of ["/v1/t1/count", "/v1/_tables", "/v1/_usage", "/v1/_keys"]) yield* get(few, path)
    const { view } = yield* within(few, makeLinks(key, "row", { table: "t1", id }))
    yield* get(few, view)

    yield* get(oneTable, `/v1/t1${search({ filter: `{"n":"${phase} 1"}`, sort: "-n" })}`)
    yield* get(oneTable, `/v1/t1/count${search({ filter: `{"n":"${phase} 1"}` })}`)
    yield* post(oneTable, "/v1/t1/upsert", `{"key":"n","row":{"n":"${phase} 2","m":1}}`)
    yield* post(oneTable, "/v1/t1/update_where", `{"filter":{"n":"${phase} 3"},"patch":{"m":1}}`)

    const time = new Date().toISOString()
    const row = `{"id":"${randomUUID()}","created_at":"${time}","updated_at":"${time}"}`
    yield* post(few, "/v1/_import", `{"tables":{"t1":[${row}]}}`)

    const retention = yield* RetentionRepo
    for (const remove of [retention.removeVersions, retention.removeRecords]) {
      const revision = yield* sql.withTransaction(retention.lockAccount(accountId))
      const bounds = { rows: 10, versionDays: 0, idempotencyHours: 0 }
      assert.strictEqual(yield* within(few, remove(accountId, revision!, bounds)), 10)
    }
    return found
  })

  it.effect("go to what they look for in a new account", () =>
    Effect.gen(function* () {
      account = yield* newAccount
      const sql = yield* SqlClient.SqlClient
      // Statistics that come by themselves would let the session plan anew.
      for (const table of ["accounts", "tables", "rows", "versions", "idempotency_records"]) {
        yield* sql.unsafe(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`)
      }
      yield* fill([account.accountId], 2, 20)
      assert.deepStrictEqual(yield* readTooMuch("new"), {})
    })
  )

  const analyze = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`ANALYZE`)
  const crowd = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const others = Array.from({ length: 2000 }, (_, n) => `account${n}`)
    yield* sql`INSERT INTO accounts (account_id, created_at) SELECT unnest(${texts(others)}::text[]), memory_now()`
    yield* fill(others, 2, 2)
  })
  const later = [
    [
      "once it is full, as they were planned before",
      Effect.suspend(() => fill([account.accountId], fullTables, fullRows))
    ],
    ["in a full one, planned for it", analyze],
    ["in a full one, planned for many small ones beside it", Effect.andThen(crowd, analyze)]
  ] as const
  for (const [where, change] of later) {
    it.effect(`go to what they look for ${where}`, () =>
      Effect.gen(function* () {
        yield* change
        const found = yield* readTooMuch(where)
        assert.deepStrictEqual(Object.keys(found), Object.keys(whole), JSON.stringify(found))
      })
    )
  }

  it.effect("are all of them held to that", () => Effect.sync(() => assert.includeMembers([...seen], needed)))
})
