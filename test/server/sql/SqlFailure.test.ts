import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { refine, transact } from "../../../src/server/sql/SqlFailure.ts"
import { DatabaseLayer, DatabaseUrl, poolOf } from "../../support/Database.ts"

layer(DatabaseLayer, { excludeTestServices: true, timeout: "30 seconds" })("SQL failures", (it) => {
  it.effect("are unavailability when nobody answers", () =>
    Effect.gen(function* () {
      const nobody = yield* Layer.build(
        Layer.fresh(PgClient.layer({ url: Redacted.make("postgres://postgres@127.0.0.1:1/none") }))
      )
      const error = yield* Effect.flip(refine(Context.get(nobody, SqlClient.SqlClient)`SELECT 1`))
      assert.deepInclude(error, { code: "unavailable", status: 503 })
    })
  )

  it.effect("are unavailability when an administrator ends the connection, and the next call works", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const error = yield* Effect.flip(refine(sql`SELECT pg_terminate_backend(pg_backend_pid())`))
      assert.deepInclude(error, { code: "unavailable", status: 503 })
      assert.notMatch(JSON.stringify(error), /57P01|terminat|SELECT/)
      yield* refine(sql`SELECT 1`)
    })
  )

  const toldAs = Effect.fnUntraced(function* <A, E>(statement: Effect.Effect<A, E>) {
    const lines: Array<string> = []
    const logger = Logger.make<unknown, void>(({ message }) => void lines.push(JSON.stringify(message)))
    const error = yield* Effect.flip(refine(statement)).pipe(Effect.provide(Logger.layer([logger])))
    return { detail: String(Object(error).detail), log: lines.join("\n") }
  })

  it.effect("are told as slowness when a statement or a lock took too long", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const slow = yield* toldAs(
        sql.withTransaction(
          Effect.andThen(sql`SET LOCAL statement_timeout = '20ms'`, sql`SELECT 'wombat' FROM pg_sleep(5)`)
        )
      )
      yield* sql`CREATE TABLE IF NOT EXISTS locked (name text)`
      const other = yield* poolOf((yield* DatabaseUrl).url)
      const locked = yield* sql.withTransaction(
        Effect.andThen(
          sql`LOCK TABLE locked IN ACCESS EXCLUSIVE MODE`,
          toldAs(
            other.withTransaction(
              Effect.andThen(other`SET LOCAL lock_timeout = '20ms'`, other`LOCK TABLE locked IN ACCESS EXCLUSIVE MODE`)
            )
          )
        )
      )
      for (const { detail, log } of [slow, locked]) {
        assert.include(detail, "too slow")
        assert.include(log, "The database was too slow")
        assert.notMatch(detail + log, /reached|57014|55P03|wombat|SELECT/)
      }
    })
  )

  it.effect("are logged with the system's code, or in words for what PostgreSQL said", () =>
    Effect.gen(function* () {
      const nobody = yield* Layer.build(
        Layer.fresh(PgClient.layer({ url: Redacted.make("postgres://postgres@127.0.0.1:1/none") }))
      )
      const refused = yield* toldAs(Context.get(nobody, SqlClient.SqlClient)`SELECT 'wombat'`)
      assert.include(refused.log, '"cause":"ECONNREFUSED"')
      const sql = yield* SqlClient.SqlClient
      const starting = yield* toldAs(sql`DO 'BEGIN RAISE EXCEPTION ''wombat'' USING ERRCODE = ''57P03''; END'`)
      assert.include(starting.log, "the server is starting or stopping")
      assert.notMatch(refused.log + starting.log + starting.detail, /57P03|wombat|SELECT|DO/)
    })
  )

  it.effect("are defects when the statement is wrong", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const exit = yield* Effect.exit(refine(sql`SELECT nothing FROM nowhere`))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
    })
  )

  it.effect("are unavailability when the connection is lost within a transaction, whose rollback fails then too", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const lose = refine(sql`SELECT pg_terminate_backend(pg_backend_pid())`)
      const error = yield* Effect.flip(transact(sql)(Effect.andThen(refine(sql`SELECT 1`), lose)))
      assert.deepInclude(error, { code: "unavailable", status: 503 })
    })
  )

  it.effect("keep the failures of the domain", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Effect.flip(refine(Effect.fail("mine"))), "mine")
    })
  )

  it.effect("repeat a whole transaction that lost a deadlock", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE IF NOT EXISTS counters (name text PRIMARY KEY, value int NOT NULL)`
      yield* sql`INSERT INTO counters VALUES ('a', 0), ('b', 0)`
      const add = (name: string) => refine(sql`UPDATE counters SET value = value + 1 WHERE name = ${name}`)
      const [first, second] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
      let runs = 0
      const crossing = (one: string, two: string, mine: Deferred.Deferred<void>, theirs: Deferred.Deferred<void>) =>
        Effect.gen(function* () {
          runs++
          yield* add(one)
          yield* Deferred.succeed(mine, undefined)
          yield* Deferred.await(theirs)
          yield* add(two)
        }).pipe(transact(sql))
      yield* Effect.all([crossing("a", "b", first, second), crossing("b", "a", second, first)], {
        concurrency: "unbounded"
      })
      assert.isAbove(runs, 2)
      const rows = yield* sql<{ readonly value: number }>`SELECT value FROM counters ORDER BY name`
      assert.deepStrictEqual(
        rows.map(({ value }) => value),
        [2, 2]
      )
    })
  )
})
