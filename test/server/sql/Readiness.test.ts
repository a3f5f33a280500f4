import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { randomBytes } from "node:crypto"
import { obstacleOf, stateOf, tables } from "../../../src/server/sql/Migrations.ts"
import type { Finding } from "../../../src/cli/doctor/Finding.ts"
import { agentMemory } from "../../support/CommandLine.ts"
import { DatabaseLayer, DatabaseUrl } from "../../support/Database.ts"
import { emptyDatabase, spawnService, startService } from "../../support/ServiceProcess.ts"

const seconds = 60_000

/** Uses a connection to a database, as the role of its address. */
const using = <A, E>(url: string, use: (sql: PgClient.PgClient) => Effect.Effect<A, E>) =>
  PgClient.make({ url: Redacted.make(url), maxConnections: 1 }).pipe(
    Effect.flatMap(use),
    Effect.scoped,
    Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make),
    Effect.orDie
  )

/** A plain role of a name of its own, and an empty database that it does not own. */
const plainRole = Effect.gen(function* () {
  const admin = yield* SqlClient.SqlClient
  const role = `Plain ${randomBytes(6).toString("hex")}`
  yield* Effect.acquireRelease(admin`CREATE ROLE ${admin(role)} LOGIN PASSWORD 'plain'`, () =>
    Effect.orDie(admin`DROP ROLE ${admin(role)}`)
  )
  const adminUrl = yield* emptyDatabase
  yield* Effect.addFinalizer(() => using(adminUrl, (sql) => sql`DROP OWNED BY ${sql(role)}`))
  const url = new URL(adminUrl)
  url.username = encodeURIComponent(role)
  url.password = "plain"
  return { role, adminUrl, url: url.href, database: url.pathname.slice(1) }
})

/** What the service and the doctor say of a database that cannot be used; both say the same. */
const refusal = Effect.fnUntraced(function* (url: string) {
  const service = yield* spawnService({ DATABASE_URL: url })
  assert.strictEqual(yield* service.ended, 1, service.output())
  const [head, cause = "", remedy = ""] = service.output().trimEnd().split("\n")
  assert.strictEqual(head, "Agent Memory did not start.")
  assert.deepInclude(yield* finding(url), { status: "failed", detail: cause, fix: remedy })
  return { cause, remedy }
})

/** What the doctor finds of a database. */
const finding = Effect.fnUntraced(function* (url: string) {
  const { out } = yield* agentMemory(["doctor", "--json"], { variables: { DATABASE_URL: url, PORT: "1" } })
  const { checks } = JSON.parse(out) as { checks: ReadonlyArray<Finding> }
  return checks.find(({ check }) => check === "database")!
})

/** The statement that a remedy ends in. */
const statementIn = (remedy: string): string => /[A-Z]+ [^:]*;$/.exec(remedy)?.[0] ?? ""

layer(DatabaseLayer, { excludeTestServices: true, timeout: seconds })("A database", (it) => {
  it.effect(
    "in which a plain role may create nothing, as PostgreSQL 15 has it, starts after the statement that is named",
    () =>
      Effect.gen(function* () {
        const { adminUrl, database, role, url } = yield* plainRole
        const { cause, remedy } = yield* refusal(url)
        assert.strictEqual(
          cause,
          `The role ${role} may not create tables in the schema public of the database ${database}.`
        )
        assert.strictEqual(remedy, `As the schema's owner, run: GRANT CREATE ON SCHEMA "public" TO "${role}";`)
        yield* using(adminUrl, (sql) => sql.unsafe(statementIn(remedy)))
        yield* startService({ DATABASE_URL: url })
        assert.deepInclude(yield* finding(url), { status: "ok" })
      })
  )

  it.effect("that is up to date is served by a role that may create nothing, once it may read and write", () =>
    Effect.gen(function* () {
      const { adminUrl, role, url } = yield* plainRole
      assert.strictEqual((yield* agentMemory(["migrate"], { variables: { DATABASE_URL: adminUrl } })).code, 0)
      const { cause, remedy } = yield* refusal(url)
      assert.include(cause, `The role ${role} may not read and write these tables`)
      assert.include(cause, "accounts, ")
      yield* using(adminUrl, (sql) => sql.unsafe(statementIn(remedy)))
      yield* startService({ DATABASE_URL: url })
    })
  )

  it.effect("that takes no writes starts after the statement that is named", () =>
    Effect.gen(function* () {
      const { adminUrl, role, url } = yield* plainRole
      yield* using(adminUrl, (sql) => sql`GRANT CREATE ON SCHEMA public TO ${sql(role)}`)
      yield* using(adminUrl, (sql) => sql`ALTER ROLE ${sql(role)} SET default_transaction_read_only = on`)
      const { cause, remedy } = yield* refusal(url)
      assert.include(cause, `accepts no writes from the role ${role}, because default_transaction_read_only is on.`)
      yield* using(adminUrl, (sql) => sql.unsafe(statementIn(remedy)))
      yield* startService({ DATABASE_URL: url })
    })
  )

  it.effect("whose schema a role may not even use is named with what lets it in", () =>
    Effect.gen(function* () {
      const { adminUrl, role, url } = yield* plainRole
      yield* using(adminUrl, (sql) => sql`REVOKE ALL ON SCHEMA public FROM PUBLIC`)
      const { cause, remedy } = yield* refusal(url)
      assert.include(cause, `The role ${role} may use no schema of its search_path`)
      yield* using(adminUrl, (sql) => sql.unsafe(statementIn(remedy)))
      yield* startService({ DATABASE_URL: url })
    })
  )

  for (const [what, table, statement] of [
    ["a table", "accounts", "CREATE TABLE accounts (id integer)"],
    ["a view", "links", "CREATE VIEW links AS SELECT 1 AS id"],
    ["migrations", "migrations", "CREATE TABLE migrations (id integer, migration text, batch integer)"]
  ] as const) {
    it.effect(`that has ${what} of another program is left alone, and another one is advised`, () =>
      Effect.gen(function* () {
        const url = yield* emptyDatabase
        yield* using(url, (sql) => sql.unsafe(statement))
        const { cause, remedy } = yield* refusal(url)
        assert.match(cause, new RegExp(`another program's tables under names that Agent Memory needs: ${table}\\.$`))
        assert.include(remedy, "CREATE DATABASE agent_memory OWNER ")
        const left = yield* using(url, (sql) => sql`SELECT FROM pg_class WHERE relnamespace = 'public'::regnamespace`)
        assert.lengthOf(left, 1)
      })
    )
  }

  it.effect("that a newer release has changed is served with a warning that names the change", () =>
    Effect.gen(function* () {
      const url = yield* emptyDatabase
      yield* startService({ DATABASE_URL: url })
      yield* using(url, (sql) => sql`INSERT INTO migrations (migration_id, name) VALUES (9998, 'create_dreams')`)
      const service = yield* startService({ DATABASE_URL: url })
      const warnings = service
        .output()
        .split("\n")
        .filter((line) => line.includes('"level":"warn"'))
      assert.lengthOf(warnings, 1)
      assert.include(warnings[0], "by a newer release of Agent Memory, with migration 9998, create_dreams.")
      const found = yield* finding(url)
      assert.strictEqual(found.status, "warning")
      assert.include(found.detail, "migration 9998, create_dreams")
    })
  )

  it.effect("on a standby is refused, whatever else is the matter with it", () =>
    Effect.gen(function* () {
      const state = yield* stateOf(yield* SqlClient.SqlClient)
      assert.isUndefined(obstacleOf(state))
      const obstacle = obstacleOf({ ...state, isStandby: true, isReadOnly: true, mayCreate: false })
      assert.include(obstacle?.cause, "of DATABASE_URL is a standby, which accepts no writes")
      assert.include(obstacle?.remedy, "Set DATABASE_URL to the primary server")
    })
  )

  it.effect("has the tables whose names are looked for, and no others", () =>
    Effect.gen(function* () {
      const { url } = yield* DatabaseUrl
      const found = yield* using(
        url,
        (sql) => sql<{ name: string }>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`
      )
      assert.sameMembers(
        tables,
        found.map(({ name }) => name)
      )
    })
  )
})
