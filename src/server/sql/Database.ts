import { PgConnection, PgClient } from "@effect/sql-pg"
import { Data, Effect, Redacted, Context, Layer, Option, type Scope } from "effect"
import { SqlError, type Migrator, SqlClient } from "effect/sql"
import { readFileSync } from "node:fs"
import { getCACertificates, type ConnectionOptions } from "node:tls"
import { isLoopbackHost, Settings } from "../config/Settings.ts"
import type { SslMode } from "../config/Setting.ts"
import { traced } from "../telemetry/Telemetry.ts"
import { Reactivity } from "effect/reactivity"
import {
  findEmbedded,
  makeEmbedded,
  type EmbeddedPostgresAddress,
  type EmbeddedPostgresOptions
} from "./EmbeddedPostgres.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { texts } from "./SharedSql.ts"
import { migrate, newerWarning, obstacleOf, pendingOf, stateOf } from "./Migrations.ts"

/** The database cannot be used; `message` gives the cause and the remedy. */
export class DatabaseProblem extends Data.TaggedError("DatabaseProblem")<{ readonly message: string }> {}

const problem = (message: string) => new DatabaseProblem({ message })

/** The server's host: a name, an address, or the folder of a socket. */
const hostOf = ({ hostname, searchParams }: URL): string => searchParams.get("host") ?? decodeURIComponent(hostname)

const read = (parameter: string, file: string) =>
  Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: (error) => problem(`The ${parameter} of DATABASE_URL cannot be read: ${(error as Error).message}`)
  })

const isWithoutTls = ({ reason }: SqlError.SqlError): boolean =>
  reason.cause instanceof Error && reason.cause.message === "The server does not support TLS"

/** Encrypts if the server can. It is asked once, so that nothing on the network can downgrade later connections. */
const preferred = (url: Redacted.Redacted, ssl: ConnectionOptions) =>
  PgConnection.make({ url, ssl, connectTimeout: "2 seconds" }).pipe(
    Effect.scoped,
    Effect.as<ConnectionOptions | false>(ssl),
    Effect.catchIf(isWithoutTls, () => Effect.succeed<ConnectionOptions | false>(false))
  )

/**
 * The TLS options for the server of a `DATABASE_URL`, by libpq's rules for `sslmode`. The default is `disable` for servers on
 * this machine and `prefer` for others. Certificate authorities are those of `sslrootcert`, or else those that Node.js trusts.
 */
const tlsOf = traced("Database.tlsOf")(function* (address: Redacted.Redacted) {
  const url = new URL(Redacted.value(address))
  const { searchParams } = url
  const host = hostOf(url)
  if (host.startsWith("/")) return false
  const mode = (searchParams.get("sslmode") ?? (isLoopbackHost(host) ? "disable" : "prefer")) as SslMode
  if (mode === "disable") return false
  const [authorities, cert, key] = ["sslrootcert", "sslcert", "sslkey"].map(
    (name) => searchParams.get(name) ?? undefined
  )
  const own =
    cert === undefined || key === undefined
      ? {}
      : { cert: yield* read("sslcert", cert), key: yield* read("sslkey", key) }
  const unchecked: ConnectionOptions = { ...own, rejectUnauthorized: false }
  if (mode === "prefer") return yield* preferred(address, unchecked)
  if (mode === "require" && authorities === undefined) return unchecked
  const checked: ConnectionOptions = { ...own, rejectUnauthorized: true }
  if (authorities !== undefined) {
    checked.ca = authorities === "system" ? getCACertificates("system") : yield* read("sslrootcert", authorities)
  }
  return mode === "verify-full" ? checked : { ...checked, checkServerIdentity: () => undefined }
})

/** Where this process keeps its data, for people to read. */
export class DataPlace extends Context.Service<DataPlace, { readonly description: string }>()(
  "agent-memory/server/sql/Database/DataPlace"
) {}

/** Every session starts with these settings. The deployment document lists them for poolers, which ignore them. */
export const startupParameters = {
  // All that responses and time limits depend on, whatever the database's defaults are.
  timezone: "UTC",
  statement_timeout: "10s",
  lock_timeout: "5s",
  idle_in_transaction_session_timeout: "15s",
  max_parallel_workers_per_gather: "0",
  jit: "off",
  // Requests read by a key that begins with the account. A plan is made once, and must not be made for a table that is still
  // small.
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off"
} as const

const session = {
  applicationName: "agent-memory",
  startupParameters,
  connectTimeout: "2 seconds",
  maxConnections: 20
} as const

const oldestServer = 15

/** The pool of one external server. */
export const externalPool = (
  url: Redacted.Redacted
): Effect.Effect<PgClient.PgClient, DatabaseProblem | SqlError.SqlError, Reactivity.Reactivity | Scope.Scope> =>
  Effect.flatMap(tlsOf(url), (ssl) => PgClient.make({ ...session, url, ssl }))

/** The innermost reason of a failed connection: a refusal, an unknown host, or PostgreSQL's message. */
const rootReason = (error: unknown): string => {
  if (!(error instanceof Error)) return "no reason was given"
  if (error instanceof AggregateError && error.errors.length > 0) return rootReason(error.errors[0])
  return error.cause instanceof Error ? rootReason(error.cause) : error.message
}

const unreachable = (error: SqlError.SqlError) =>
  problem(
    `The database of DATABASE_URL cannot be used: ${rootReason(error.reason)}\nCheck DATABASE_URL, and that the server is running and accepts connections, or unset it to use the embedded database.`
  )

const checkVersion = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const names = Object.keys(startupParameters)
  const rows = yield* sql<{ version: number; encoding: string; settings: ReadonlyArray<string> }>`
    SELECT current_setting('server_version_num')::integer / 10000 AS version,
      current_setting('server_encoding') AS encoding,
      ARRAY(SELECT current_setting(name) FROM unnest(${texts(names)}::text[]) AS name) AS settings
  `.pipe(Effect.mapError(unreachable))
  const { encoding, settings, version } = rows[0]!
  if (version < oldestServer) {
    return yield* problem(
      `The server of DATABASE_URL is PostgreSQL ${version}. Agent Memory needs ${oldestServer} or later.`
    )
  }
  if (encoding !== "UTF8") {
    return yield* problem(`The database of DATABASE_URL has the encoding ${encoding}. Create it with ENCODING 'UTF8'.`)
  }
  const lost = Object.entries(startupParameters).filter(([, value], index) => settings[index] !== value)
  if (lost.length > 0) {
    const missing = lost.map(([name, value]) => `${name} = '${value}'`).join(", ")
    return yield* problem(
      `Sessions of DATABASE_URL lose their start settings, as behind a pooler. Give its role these settings with ALTER ROLE: ${missing}.`
    )
  }
})

/** Connects to the server of `DATABASE_URL` and checks its version, encoding and session settings. Migrates nothing. */
export const openExternal = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const client = yield* Effect.catchTag(externalPool(url), "SqlError", (error) => Effect.fail(unreachable(error)))
  yield* checkVersion(client)
  return { client, description: "in the PostgreSQL database of DATABASE_URL" }
})

const embedded = Effect.fnUntraced(function* (address: EmbeddedPostgresAddress) {
  const { dataDir, database, host, port, username } = address
  const client = yield* PgClient.make({ ...session, host, port, username, database })
  return { client, description: `in ${dataDir} (embedded PostgreSQL)` }
})

const notMigrated = (error: Migrator.MigrationError | SqlError.SqlError) => {
  const failed = error._tag === "MigrationError" ? `${error.message}: ` : ""
  const statement = error._tag === "MigrationError" ? error.cause : error
  const reason = SqlError.isSqlError(statement) ? rootReason(statement.reason) : "no statement failed"
  return problem(`The database could not be migrated: ${failed}${reason}\nNothing was changed. See the database's log.`)
}

/** The advisory lock of the process that migrates the database. */
export const migrationLock = 4_212_051

/**
 * Waits without a limit until no other process migrates the database. The transaction around it keeps the lock; waits for
 * locks of tables keep their limits.
 */
const lockMigrations = (client: PgClient.PgClient) =>
  client`SET LOCAL lock_timeout = 0`.pipe(
    Effect.andThen(client`SET LOCAL statement_timeout = 0`),
    Effect.andThen(client`SELECT pg_advisory_xact_lock(${migrationLock}::bigint)`),
    Effect.andThen(client`SET LOCAL statement_timeout TO DEFAULT`),
    Effect.andThen(client`SET LOCAL lock_timeout TO DEFAULT`),
    Effect.mapError(unreachable)
  )

/** Without missing migrations, the role needs no right to create tables. */
const bringUpToDate = Effect.fnUntraced(function* (client: PgClient.PgClient) {
  yield* lockMigrations(client)
  const state = yield* stateOf(client).pipe(Effect.mapError(unreachable))
  const obstacle = obstacleOf(state)
  if (obstacle !== undefined) {
    return yield* problem(`${obstacle.cause}\n${obstacle.remedy}`)
  }
  const newer = newerWarning(state)
  if (newer !== undefined) yield* Effect.logWarning(`${newer.cause} ${newer.remedy}`)
  if (pendingOf(state).length === 0) return
  yield* migrate.pipe(Effect.provideService(SqlClient.SqlClient, client), Effect.mapError(notMigrated))
})

const migrated = Effect.fnUntraced(function* ({ client, description }: Effect.Success<ReturnType<typeof embedded>>) {
  yield* Effect.catchTag(client.withTransaction(bringUpToDate(client)), "SqlError", (error) =>
    Effect.fail(unreachable(error))
  )
  yield* Metrics.databaseConnections(session.maxConnections)
  return Context.make(PgClient.PgClient, client).pipe(
    Context.add(SqlClient.SqlClient, client),
    Context.add(DataPlace, { description })
  )
})

/** An embedded PostgreSQL as the service's database, migrated. */
export const embeddedLayer = (options: EmbeddedPostgresOptions) =>
  Layer.effectContext(makeEmbedded(options).pipe(Effect.flatMap(embedded), Effect.flatMap(migrated))).pipe(
    Layer.provide(Reactivity.layer)
  )

const layerOf = (findRunning: (dataDir: string) => ReturnType<typeof findEmbedded>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const { dataDir, databaseUrl } = yield* Settings
      if (Option.isSome(databaseUrl)) return yield* migrated(yield* openExternal(databaseUrl.value))
      const running = yield* findRunning(dataDir)
      return yield* migrated(yield* embedded(Option.isSome(running) ? running.value : yield* makeEmbedded({ dataDir })))
    })
  ).pipe(Layer.provide(Reactivity.layer))

/** The service's database, migrated: the server of `DATABASE_URL`, or else the embedded PostgreSQL in `DATA_DIR`. */
export const DatabaseLayer = layerOf(() => Effect.succeedNone)

/** {@link DatabaseLayer} for a program beside the service: it shares an embedded database that is already running. */
export const BesideDatabaseLayer = layerOf(findEmbedded)
