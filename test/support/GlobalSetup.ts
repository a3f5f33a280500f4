import { PgClient } from "@effect/sql-pg"
import { Config, Effect, Exit, Option, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, statfsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { TestProject } from "vitest/node"
import { dropDatabase, withAdmin } from "./AdminConnection.ts"
import { findChromium } from "./Chromium.ts"
import { makeEmbedded } from "../../src/server/sql/EmbeddedPostgres.ts"
import { migrate } from "../../src/server/sql/Migrations.ts"
import { throwAwayFolder, throwAwayFolderIn } from "../../src/testing/TestDatabase.ts"

const root = fileURLToPath(new URL("../..", import.meta.url))
const execute = promisify(execFile)

declare module "vitest" {
  interface ProvidedContext {
    /** Where this run's PostgreSQL answers, and the migrated database that suites copy. */
    readonly postgres: { readonly adminUrl: string; readonly template: string }
    /** The built service's file. */
    readonly bundle: string
    /** Where its processes keep its compiled code, as `npm start` and the command do. */
    readonly compiled: string
    /** The Chromium of the browser tests; empty where there is none. */
    readonly chromium: string
    /** The folder of the JSONTestSuite's files; empty where there is none. */
    readonly jsonTestSuite: string
  }
}

const socketUrl = (host: string, port: number): string =>
  `postgres://postgres@localhost:${port}/postgres?host=${encodeURIComponent(host)}`

const shared = "/dev/shm"
/** The type of file systems in memory, as Linux numbers it. */
const tmpfs = 0x01021994

/** Whether files can be kept in memory: the databases of all suites take less than a gigabyte at a time. */
const hasMemoryToSpare = (): boolean => {
  try {
    const { bavail, bsize, type } = statfsSync(shared)
    return type === tmpfs && Math.min(bavail * bsize, process.availableMemory()) > 6_000_000_000
  } catch {
    return false
  }
}

/**
 * The server of `DATABASE_URL`, or an embedded one of this run's own without durability. On a disk, the 320 files of a
 * suite's database take longer to create than the service to start.
 */
const server = Effect.gen(function* () {
  const external = yield* Config.option(Config.String("DATABASE_URL"))
  if (external._tag === "Some") return external.value
  const dataDir = yield* hasMemoryToSpare() ? throwAwayFolderIn(shared) : throwAwayFolder
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

/**
 * The service as `npm start` runs it, for the suites that start processes of it, and what browsers load from both. It is
 * built under node_modules, so that it finds the packages that it does not hold.
 */
const buildService = Effect.gen(function* () {
  const cache = join(root, "node_modules", ".cache")
  mkdirSync(cache, { recursive: true })
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(cache, "agent-memory-test-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  yield* Effect.promise(() => execute(process.execPath, ["src/build/build.js", "--service", folder], { cwd: root }))
  // Moved, so that whoever reads the folder meanwhile finds all of one build.
  const assets = join(root, "dist", "assets")
  const copy = `${assets}.${process.pid}`
  cpSync(join(folder, "assets"), copy, { recursive: true })
  rmSync(assets, { recursive: true, force: true })
  renameSync(copy, assets)
  return join(folder, "main.js")
})

// Without a window, pages take half of the time.
const findJsonTestSuite = Effect.gen(function* () {
  const named = yield* Config.option(Config.String("JSON_TEST_SUITE"))
  const beside = fileURLToPath(new URL("../../../shared/corpora/JSONTestSuite/test_parsing", import.meta.url))
  const folder = Option.getOrElse(named, () => beside)
  return existsSync(folder) ? folder : ""
})

/** One PostgreSQL and one migrated template database for the whole run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  console.log("`npm test` takes six to ten minutes on two cores; each file is named as it ends.")
  const scope = Scope.makeUnsafe()
  project.provide("jsonTestSuite", await Effect.runPromise(findJsonTestSuite))
  const chromium = await Effect.runPromise(findChromium)
  if (chromium === "") console.log("The browser tests are skipped: no Chromium starts. Name one in CHROMIUM.")
  project.provide("chromium", chromium)
  const [bundle, postgres] = await Effect.runPromise(
    Effect.all([buildService, prepare], { concurrency: "unbounded" }).pipe(Scope.provide(scope))
  )
  project.provide("bundle", bundle)
  project.provide("compiled", join(dirname(bundle), "compiled"))
  project.provide("postgres", postgres)
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
