import { PgClient } from "@effect/sql-pg"
import { Config, Effect, Exit, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { TestProject } from "vitest/node"
import { dropDatabase, withAdmin } from "./AdminConnection.ts"
import { makeEmbedded } from "../../src/server/sql/EmbeddedPostgres.ts"
import { migrate } from "../../src/server/sql/Migrations.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where this run's PostgreSQL answers, and the migrated database that suites copy. */
    readonly postgres: { readonly adminUrl: string; readonly template: string }
  }
}

const socketUrl = (host: string, port: number): string =>
  `postgres://postgres@localhost:${port}/postgres?host=${encodeURIComponent(host)}`

/** The server of `DATABASE_URL`, or an embedded one of this run's own without durability. */
const server = Effect.gen(function* () {
  const external = yield* Config.option(Config.String("DATABASE_URL"))
  if (external._tag === "Some") return external.value
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "agent-memory-test-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const { host, port } = yield* makeEmbedded({ dataDir, durable: false, settings: { max_connections: "400" } })
  return socketUrl(host, port)
})

const prepare = Effect.gen(function* () {
  const adminUrl = yield* server
  const template = `agent_memory_test_${process.pid}`
  yield* Effect.acquireRelease(
    withAdmin(adminUrl, (sql) => sql`CREATE DATABASE ${sql(template)} TEMPLATE template0 ENCODING 'UTF8'`),
    () =>
      withAdmin(
        adminUrl,
        (sql) => sql<{ datname: string }>`SELECT datname FROM pg_database WHERE starts_with(datname, ${template})`
      ).pipe(Effect.flatMap(Effect.forEach(({ datname }) => dropDatabase(adminUrl, datname))), Effect.orDie)
  )
  const url = new URL(adminUrl)
  url.pathname = `/${template}`
  const client = PgClient.make({ url: Redacted.make(url.href) })
  yield* migrate.pipe(Effect.provideServiceEffect(SqlClient.SqlClient, client), Effect.scoped)
  return { adminUrl, template }
}).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))

/** One PostgreSQL and one migrated template database for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const scope = Scope.makeUnsafe()
  project.provide("postgres", await Effect.runPromise(Scope.provide(prepare, scope)))
  // What a broken suite left open must not keep the run's result from being told.
  return () =>
    new Promise((resolve) => {
      const patience = setTimeout(resolve, 20_000)
      void Effect.runPromise(Effect.exit(Scope.close(scope, Exit.void))).then(() => {
        clearTimeout(patience)
        resolve()
      })
    })
}
