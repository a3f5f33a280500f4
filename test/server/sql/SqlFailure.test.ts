import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { refine, transact } from "../../../src/server/sql/SqlFailure.ts"
import { DatabaseLayer } from "../../support/Database.ts"

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

  it.effect("are defects when the statement is wrong", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const exit = yield* Effect.exit(refine(sql`SELECT nothing FROM nowhere`))
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
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
