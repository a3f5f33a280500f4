import { PgClient } from "@effect/sql-pg"
import { Config, Effect, Exit, Option, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { execFileSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"
import { dropDatabase, withAdmin } from "./AdminConnection.ts"
import { makeEmbedded } from "../../src/server/sql/EmbeddedPostgres.ts"
import { migrate } from "../../src/server/sql/Migrations.ts"
import { throwAwayFolder } from "../../src/testing/ThrowAwayFolder.ts"

declare module "vitest" {
  interface ProvidedContext {
    /** Where this run's PostgreSQL answers, and the migrated database that suites copy. */
    readonly postgres: { readonly adminUrl: string; readonly template: string }
    /** The Chromium of the browser tests; empty where there is none. */
    readonly chromium: string
    /** The folder of the JSONTestSuite's files; empty where there is none. */
    readonly jsonTestSuite: string
  }
}

const socketUrl = (host: string, port: number): string =>
  `postgres://postgres@localhost:${port}/postgres?host=${encodeURIComponent(host)}`

/** The server of `DATABASE_URL`, or an embedded one of this run's own without durability. */
const server = Effect.gen(function* () {
  const external = yield* Config.option(Config.String("DATABASE_URL"))
  if (external._tag === "Some") return external.value
  const dataDir = yield* throwAwayFolder
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

/** What browsers load, built as `npm run build` does. */
const buildAssets = Effect.sync(() =>
  execFileSync(process.execPath, ["src/build.js", "--assets"], {
    cwd: fileURLToPath(new URL("../..", import.meta.url))
  })
)

const chromiums = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
]

const findChromium = Effect.gen(function* () {
  const named = yield* Config.option(Config.String("CHROMIUM"))
  const found = Option.getOrElse(named, () => chromiums.find((path) => existsSync(path)) ?? "")
  if (found === "")
    console.log("The browser tests are skipped: there is no Chromium. Install one, or name it in CHROMIUM.")
  return found
})

const findJsonTestSuite = Effect.gen(function* () {
  const named = yield* Config.option(Config.String("JSON_TEST_SUITE"))
  const beside = fileURLToPath(new URL("../../../shared/corpora/JSONTestSuite/test_parsing", import.meta.url))
  const folder = Option.getOrElse(named, () => beside)
  return existsSync(folder) ? folder : ""
})

/** One PostgreSQL and one migrated template database for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const scope = Scope.makeUnsafe()
  project.provide("jsonTestSuite", await Effect.runPromise(findJsonTestSuite))
  project.provide("chromium", await Effect.runPromise(findChromium))
  await Effect.runPromise(buildAssets)
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
