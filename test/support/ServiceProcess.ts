import { Config, Data, Effect, Option } from "effect"
import { SqlClient } from "effect/sql"
import { spawn, type ChildProcess } from "node:child_process"
import { randomBytes, randomInt } from "node:crypto"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { inject } from "vitest"
import { waitUntil } from "../../src/server/sql/EmbeddedProcess.ts"
import { DatabaseUrl } from "./Database.ts"
import { keepsDataIn, localHeadersOf } from "./LocalSecrets.ts"

/** A process ended before it was ready; `output` is all that it printed. */
class Ended extends Data.TaggedError("Ended")<{ readonly code: number | null; readonly output: string }> {
  override get message() {
    return `exit code ${this.code}: ${this.output}`
  }
}

/** The connection broke or was refused: whether a write took effect is not known. */
class Disconnected extends Data.TaggedError("Disconnected")<{ readonly code: string }> {}

/**
 * A port that nobody listens on now. It is none of those that systems give to outgoing connections, which could take it
 * while the service restarts.
 */
export const freePort: Effect.Effect<number> = Effect.callback<number>((resume) => {
  const port = randomInt(10_000, 32_000)
  const server = createServer()
    .once("error", () => resume(freePort))
    .listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(port))))
})

/** An empty folder, removed at the end. */
export const makeFolder = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "agent-memory-test-"))),
  (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
)

/** The process id of the embedded database's server. */
export const postmasterOf = (dataDir: string): number =>
  Number(readFileSync(join(dataDir, "postgres", "postmaster.pid"), "utf8").split("\n")[0])

/** An address of a database without a table, on the suite's server; dropped at the end. */
export const emptyDatabase = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { url } = yield* DatabaseUrl
  // PostgreSQL cuts names after 63 characters.
  const name = `${new URL(url).pathname.slice(1, 50)}_${randomBytes(6).toString("hex")}`
  yield* Effect.acquireRelease(sql`CREATE DATABASE ${sql(name)} TEMPLATE template0 ENCODING 'UTF8'`, () =>
    Effect.orDie(sql`DROP DATABASE ${sql(name)} WITH (FORCE)`)
  )
  return Object.assign(new URL(url), { pathname: `/${name}` }).href
})

/** A process of the service, as its supervisor sees it. */
export interface ServiceProcess {
  readonly pid: number
  readonly port: number
  readonly url: string
  readonly output: () => string
  readonly hasEnded: () => boolean
  readonly signal: (name: NodeJS.Signals) => Effect.Effect<void>
  /** Waits for the end and gives the exit code; null after a signal. */
  readonly ended: Effect.Effect<number | null>
}

const hasEnded = (child: ChildProcess) => child.exitCode !== null || child.signalCode !== null

/**
 * Starts a process with these variables and none of the caller's, and does not wait. It is stopped at the end. Its
 * `DATA_DIR` is an empty folder, unless they name one.
 */
export const spawnService = Effect.fnUntraced(function* (variables: Record<string, string>, givenPort?: number) {
  const file = inject("bundle")
  const port = givenPort ?? (yield* freePort)
  const path = yield* Config.option(Config.String("PATH")).pipe(Effect.orDie)
  const dataDir = variables["DATA_DIR"] ?? (yield* makeFolder)
  keepsDataIn(port, dataDir)
  const child = yield* Effect.acquireRelease(
    Effect.sync(() =>
      spawn(process.execPath, [file], {
        cwd: tmpdir(),
        stdio: ["ignore", "pipe", "pipe"],
        env: {
          PATH: Option.getOrElse(path, () => ""),
          NODE_COMPILE_CACHE: inject("compiled"),
          PORT: String(port),
          DATA_DIR: dataDir,
          LIMIT_WRITES_PER_MINUTE: "1000000",
          LIMIT_READS_PER_MINUTE: "1000000",
          LIMIT_MCP_REQUESTS_PER_IP_PER_MINUTE: "1000000",
          LIMIT_ANONYMOUS_POSTS_PER_IP_PER_MINUTE: "1000000",
          ...variables
        }
      })
    ),
    (child) =>
      Effect.gen(function* () {
        if (hasEnded(child)) return
        child.kill("SIGTERM")
        if (!(yield* waitUntil(() => hasEnded(child), 12_000))) child.kill("SIGKILL")
      })
  )
  let printed = ""
  child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
  child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
  const closed = once(child, "close")
  const service: ServiceProcess = {
    pid: child.pid ?? 0,
    port,
    url: `http://127.0.0.1:${port}`,
    output: () => printed,
    hasEnded: () => hasEnded(child),
    signal: (name) => Effect.sync(() => void child.kill(name)),
    ended: Effect.map(
      Effect.promise(() => closed),
      () => child.exitCode
    )
  }
  return service
})

/**
 * Waits until a process says that it is ready, or fails with what it said instead. Ten seconds are promised for any start;
 * on a busy machine it may take three times as long.
 */
export const ready = Effect.fnUntraced(function* (service: ServiceProcess) {
  const isTold = yield* waitUntil(() => service.hasEnded() || service.output().includes("is ready at"), 30_000)
  if (!isTold) return yield* Effect.die(new Error(`The service is not ready:\n${service.output()}`))
  if (!service.hasEnded()) return service
  return yield* new Ended({ code: yield* service.ended, output: service.output() })
})

/** Starts a process and waits until it is ready. */
export const startService = Effect.fnUntraced(function* (variables: Record<string, string>, port?: number) {
  return yield* ready(yield* spawnService(variables, port))
})

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
}

/** One request; a connection that breaks is {@link Disconnected}. */
export const call = (
  url: string,
  options: {
    readonly method?: string
    readonly key?: string
    readonly body?: string
    readonly headers?: Record<string, string>
  } = {}
) =>
  Effect.tryPromise({
    try: async (signal): Promise<Reply> => {
      const response = await fetch(url, {
        signal,
        method: options.method ?? (options.body === undefined ? "GET" : "POST"),
        headers: {
          ...(options.key === undefined ? {} : { authorization: `Bearer ${options.key}` }),
          ...(options.body === undefined ? {} : { "content-type": "application/json" }),
          ...options.headers
        },
        ...(options.body === undefined ? {} : { body: options.body })
      })
      return { status: response.status, headers: response.headers, text: await response.text() }
    },
    catch: (error) => new Disconnected({ code: String(error instanceof Error ? error.cause : error) })
  })

/** Signs up over HTTP, as a person on the service's own machine does, and gives the API key. */
export const signUp = Effect.fnUntraced(function* (url: string, email = "somebody@example.com") {
  const headers = localHeadersOf(url)
  const link = yield* call(`${url}/auth/magic-link`, { body: JSON.stringify({ email }), headers })
  const token = /token=([^"]+)/.exec(link.text)?.[1] ?? ""
  const verified = yield* call(`${url}/auth/verify`, { body: JSON.stringify({ token }) })
  const key = /"api_key":"([^"]+)"/.exec(verified.text)?.[1]
  if (key === undefined) return yield* Effect.die(new Error(link.text + verified.text))
  return key
})

/** The `n` of every row of a table, sorted: writers number their rows, so that none can be lost or doubled unseen. */
export const numbersIn = Effect.fnUntraced(function* (url: string, table: string, key: string) {
  const { text } = yield* call(`${url}/v1/${table}?limit=1000`, { key })
  const { rows } = JSON.parse(text) as { rows: ReadonlyArray<{ n: number }> }
  return rows.map(({ n }) => n).toSorted((a, b) => a - b)
})
