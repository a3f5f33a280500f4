import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { migrationLock } from "../../../src/server/sql/Database.ts"
import { knownMigrations, migrate, tables } from "../../../src/server/sql/Migrations.ts"
import { DatabaseLayer, poolOf } from "../../support/Database.ts"
import { fillAsFirstRelease, firstMigrations } from "../../support/OlderDatabase.ts"
import { call, emptyDatabase, ready, spawnService } from "../../support/ServiceProcess.ts"

/** In milliseconds: what any statement of a request may take. */
const statementTimeout = 2000

/** A database in which accounts have browser sessions and keys since before they were bounded. */
const olderDatabase = Effect.gen(function* () {
  const url = Redacted.make(yield* emptyDatabase)
  const sql = yield* PgClient.make({
    url,
    startupParameters: { statement_timeout: String(statementTimeout), lock_timeout: "10s" }
  }).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))
  yield* Effect.provideService(firstMigrations, SqlClient.SqlClient, sql)
  yield* sql`INSERT INTO accounts (account_id, created_at) VALUES ('a', memory_now())`
  yield* sql`
    INSERT INTO browser_sessions (account_id, session_hash, email, created_at, expires_at)
    SELECT 'a', sha256(n::text::bytea), 'ada@example.com', memory_now(), memory_now() + interval '30 days'
    FROM generate_series(1, 100) AS n
  `
  const other = yield* poolOf(Redacted.value(url))
  return { sql, other, migrate: Effect.provideService(migrate, SqlClient.SqlClient, sql) }
})

layer(DatabaseLayer, { excludeTestServices: true, timeout: "60 seconds" })("Migrations of a database in use", (it) => {
  it.effect("let requests spend tokens while indexes are built, for as long as that takes", () =>
    Effect.gen(function* () {
      const { migrate, other, sql } = yield* olderDatabase
      const waiting = sql`
        SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'CREATE INDEX%' AND wait_event_type = 'Lock'
          AND clock_timestamp() - query_start > ${statementTimeout + 200}::float8 * interval '1 millisecond'
      `
      // An index is built once nobody writes to its table any more.
      const migrating = yield* Effect.gen(function* () {
        yield* other`LOCK TABLE api_keys IN ROW EXCLUSIVE MODE`
        const migrating = yield* Effect.forkScoped(migrate)
        yield* Effect.repeat(waiting, {
          until: (rows) => rows.length > 0 || migrating.pollUnsafe() !== undefined
        })
        assert.isUndefined(migrating.pollUnsafe())
        yield* other`LOCK TABLE key_buckets IN ROW EXCLUSIVE MODE NOWAIT`
        return migrating
      }).pipe(other.withTransaction)
      assert.lengthOf(yield* Fiber.join(migrating), knownMigrations.length - 5)
    })
  )

  it.effect("write no session anew, and count all as used now", () =>
    Effect.gen(function* () {
      const { migrate, sql } = yield* olderDatabase
      const file = Effect.map(
        sql<{ node: number }>`SELECT pg_relation_filenode('browser_sessions')::integer AS node`,
        ([row]) => row!.node
      )
      const before = yield* file
      yield* migrate
      assert.strictEqual(yield* file, before)
      yield* sql`
        INSERT INTO browser_sessions (account_id, session_hash, email, created_at, expires_at)
        VALUES ('a', '', 'ada@example.com', memory_now(), memory_now() + interval '30 days')
      `
      const uses = yield* sql<{ recent: boolean; sessions: number }>`
        SELECT last_used_at BETWEEN memory_now() - interval '1 minute' AND memory_now() AS recent, count(*)::integer AS sessions
        FROM browser_sessions
        GROUP BY 1
      `
      assert.deepStrictEqual(uses, [{ recent: true, sessions: 101 }])
      const moments = yield* sql`SELECT DISTINCT last_used_at FROM browser_sessions`
      assert.lengthOf(moments, 2)
    })
  )

  it.effect(
    "are carried out once of two processes that start at once, which serve all that the first release left",
    () =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        const [sql, other] = [yield* poolOf(url), yield* poolOf(url)]
        const within = Effect.provideService(SqlClient.SqlClient, sql as SqlClient.SqlClient)
        const { key, link, rowId, token } = yield* within(fillAsFirstRelease)
        const counts = Effect.forEach(
          tables.filter((name) => !["migrations", "maintenance", "changes"].includes(name)),
          (name) =>
            Effect.map(sql<{ count: number }>`SELECT count(*)::integer AS count FROM ${sql(name)}`, ([row]) => ({
              name,
              count: row!.count
            }))
        )
        const before = yield* counts
        assert.deepStrictEqual(
          before.filter(({ count }) => count === 0),
          []
        )
        // Another process brings the database up to date for longer than any statement of a request may take.
        const waiting = other`
          SELECT FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event = 'advisory'
            AND clock_timestamp() - query_start > interval '5200 milliseconds'
        `
        const starting = yield* Effect.gen(function* () {
          yield* sql`SELECT pg_advisory_xact_lock(${migrationLock}::bigint)`
          yield* sql`LOCK TABLE migrations IN ACCESS EXCLUSIVE MODE`
          const variables = { DATABASE_URL: url, BASE_URL: "http://localhost:3000" }
          const both = [yield* spawnService(variables), yield* spawnService(variables)]
          yield* Effect.repeat(waiting, {
            until: (rows) => rows.length === 2 || both.some(({ hasEnded }) => hasEnded())
          })
          return both
        }).pipe(sql.withTransaction)
        const both = yield* Effect.forEach(starting, ready)
        const applied = yield* sql<{ id: number }>`SELECT migration_id AS id FROM migrations ORDER BY 1`
        assert.deepStrictEqual(
          applied.map(({ id }) => id),
          knownMigrations.map(({ id }) => id)
        )
        assert.deepStrictEqual(
          (yield* counts).filter(({ name }) => name !== "key_buckets"),
          before.filter(({ name }) => name !== "key_buckets")
        )
        // Rows of before have no author, and the log of changes begins with the upgrade.
        const first = both[0]!.url
        const history = Effect.map(call(`${first}/v1/notes/versions?id=${rowId}`, { key }), ({ text }) => text)
        const log = Effect.map(call(`${first}/v1/_changes?since=0`, { key }), ({ text }) => text)
        assert.match(yield* history, /"change":null,"changed_by":\{"kind":"key","id":"key",/)
        assert.match(yield* history, /"current":\{"updated_at":"[^"]+","change":null,"changed_by":null\}\}$/)
        assert.strictEqual(yield* log, '{"changes":[],"has_more":false}')
        yield* call(`${first}/v1/notes/update_row`, { key, body: `{"id":"${rowId}","patch":{"n":3}}` })
        assert.match(
          yield* history,
          /"current":\{"updated_at":"[^"]+","change":1,"changed_by":\{"kind":"key","id":"key",/
        )
        assert.match(yield* log, /^\{"changes":\[\{"change":1,[^[\]]+"version":2\}\],"has_more":false\}$/)
        const undone = yield* call(`${first}/v1/_undo`, { key, body: '{"change":1}' })
        assert.match(undone.text, /^\{"undone":1,"change":2,/)
        for (const { output, url } of both) {
          assert.notInclude(output(), '"level":"error"')
          assert.match((yield* call(`${url}/v1/notes`, { key })).text, /"n":\d+\}\],"has_more":false\}$/)
          assert.include((yield* call(`${url}/v1/notes/versions?id=${rowId}`, { key })).text, '"n":1')
          assert.include((yield* call(`${url}/v1/_connections`, { key })).text, '"Client"')
          assert.include((yield* call(`${url}/view/${link}/data`, { headers: { host: "localhost:3000" } })).text, rowId)
          const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"count","arguments":{"table":"notes"}}}`
          const tool = yield* call(`${url}/mcp`, { key: token, body, headers: { accept: "application/json" } })
          assert.include(tool.text, '"count":1')
          const restored = yield* call(`${url}/v1/notes/restore`, { key, body: `{"id":"${rowId}","version":1}` })
          assert.strictEqual(restored.status, 200, restored.text)
        }
      }),
    90_000
  )

  it.effect("let instances of the earlier version tell, as they are replaced, which tables they change", () =>
    Effect.gen(function* () {
      const { migrate, sql } = yield* olderDatabase
      yield* sql`INSERT INTO tables VALUES ('a', 'changed', 1), ('a', 'same', 1)`
      yield* migrate
      /** What a commit of the first release does with the tables that it changes. */
      const commit = (name: string) => sql`
        WITH account AS (
          UPDATE accounts SET revision = revision + 1 WHERE account_id = 'a' RETURNING account_id
        ), counted AS (
          INSERT INTO tables (account_id, name, rows)
          SELECT a.account_id, t.name, 1 FROM account a, unnest(ARRAY[${name}]) AS t (name)
          ON CONFLICT (account_id, name) DO UPDATE SET rows = excluded.rows
        )
        SELECT FROM account
      `
      for (const name of ["changed", "new", "changed", "new"]) {
        yield* commit(name)
        const told = yield* sql<{ name: string }>`
          SELECT t.name FROM tables t JOIN accounts a USING (account_id) WHERE t.revision >= a.revision
        `
        assert.include(
          told.map((table) => table.name),
          name
        )
      }
      const [same] = yield* sql<{
        revision: number
      }>`SELECT revision::float8 AS revision FROM tables WHERE name = 'same'`
      assert.strictEqual(same?.revision, 0)
    })
  )
})
