import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { knownMigrations, migrate } from "../../../src/server/sql/Migrations.ts"
import { DatabaseLayer, poolOf } from "../../support/Database.ts"
import { firstMigrations } from "../../support/OlderDatabase.ts"
import { emptyDatabase } from "../../support/ServiceProcess.ts"

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
