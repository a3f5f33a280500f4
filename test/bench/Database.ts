import { PgClient } from "@effect/sql-pg"
import { Config, Effect, Exit, Option, Redacted, Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { makeEmbedded } from "../../src/server/sql/EmbeddedPostgres.ts"
import { withAdmin } from "../support/AdminConnection.ts"

type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

/** Carries out one statement on a database, over a connection of its own. */
export const query = (url: string, statement: string, values: ReadonlyArray<unknown> = []): Promise<Rows> =>
  Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(PgClient.make({ url: Redacted.make(url), maxConnections: 1 }), (sql) =>
        sql.unsafe<Record<string, unknown>>(statement, values)
      )
    ).pipe(Effect.provideServiceEffect(Reactivity.Reactivity, Reactivity.make))
  )

/** The PostgreSQL of the run, on which every variant has a database of its own. */
export interface Server {
  readonly description: string
  /** Makes an empty database and gives its address; they are dropped at the end. */
  readonly database: (name: string) => Promise<string>
  /** Takes the dead rows away and the statistics anew, in every database: what a server does by itself within minutes. */
  readonly settle: () => Promise<void>
  /** What the server's processes used since they started, in microseconds; undefined where they are not to be seen. */
  readonly cpu: () => number | undefined
  readonly close: () => Promise<void>
}

const local = "postgres://postgres@127.0.0.1:5432/postgres"

/** The server of `DATABASE_URL`, else one on this machine that lets us in, else an embedded one: all of them durable. */
const find = Effect.gen(function* () {
  const named = yield* Config.option(Config.String("DATABASE_URL"))
  if (Option.isSome(named)) return named.value
  const answers = yield* Effect.exit(withAdmin(local, (sql) => sql`SELECT 1`))
  if (Exit.isSuccess(answers)) return local
  const dataDir = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "agent-memory-bench-"))),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
  const { host, port } = yield* makeEmbedded({ dataDir })
  return `postgres://postgres@localhost:${port}/postgres?host=${encodeURIComponent(host)}`
})

/** A process's own CPU time and that of its children that have ended, in clock ticks of 10 ms. */
const ticksOf = (stat: string) => {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return { parent: Number(fields[1]), ticks: fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0) }
}

const statOf = (pid: string) => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8")
  } catch {
    return undefined
  }
}

/** The CPU time of a server and all its processes. */
const cpuOf = (postmaster: string) => () => {
  let ticks = 0
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    const stat = statOf(pid)
    if (stat === undefined) continue
    const one = ticksOf(stat)
    if (pid === postmaster || String(one.parent) === postmaster) ticks += one.ticks
  }
  return ticks * 10_000
}

/** The server's first process, if it runs on this machine and its processes can be seen. */
const postmasterOf = (backend: number): string | undefined => {
  const stat = existsSync("/proc/self/stat") ? statOf(String(backend)) : undefined
  return stat?.includes("(postgres)") === true ? String(ticksOf(stat).parent) : undefined
}

/** Finds or starts the server of the run. */
export const openServer = async (): Promise<Server> => {
  const scope = Scope.makeUnsafe()
  const adminUrl = await Effect.runPromise(Scope.provide(find, scope))
  const [settings] = await query(
    adminUrl,
    `SELECT current_setting('server_version') AS version, current_setting('fsync') AS fsync,
      current_setting('synchronous_commit') AS synchronous, pg_backend_pid() AS pid`
  )
  if (settings!["fsync"] !== "on" || settings!["synchronous"] === "off") {
    throw new Error("PostgreSQL has to be durable: turn fsync and synchronous_commit on.")
  }
  // The process ends with its connection, so that its parent is asked for while it is there.
  const postmaster = await Effect.runPromise(
    withAdmin(adminUrl, (sql) =>
      Effect.map(sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`, ([row]) => postmasterOf(row!.pid))
    )
  )
  const names: Array<string> = []
  const addressOf = (name: string) => Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href
  return {
    description: `PostgreSQL ${String(settings!["version"]).split(" ")[0]}, fsync on`,
    database: async (name) => {
      const full = `agent_memory_bench_${process.pid}_${name}`
      await query(adminUrl, `CREATE DATABASE ${full} TEMPLATE template0 ENCODING 'UTF8'`)
      names.push(full)
      return addressOf(full)
    },
    settle: async () => {
      for (const name of names) await query(addressOf(name), "VACUUM ANALYZE")
    },
    cpu: postmaster === undefined ? () => undefined : cpuOf(postmaster),
    close: async () => {
      for (const name of names) await query(adminUrl, `DROP DATABASE ${name} WITH (FORCE)`)
      await Effect.runPromise(Scope.close(scope, Exit.void))
    }
  }
}
