import { PgClient } from "@effect/sql-pg"
import { Context, Data, Effect, Layer, Option, type Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { Settings } from "../Config.ts"
import { makeEmbedded } from "./EmbeddedPostgres.ts"
import * as Metrics from "../telemetry/Metrics.ts"
import { migrate } from "./Migrations.ts"

/** The database cannot be used; the message says what to look at. */
export class DatabaseProblem extends Data.TaggedError("DatabaseProblem")<{ readonly message: string }> {}

/** Where this process keeps its data, in words for people. */
export class DataPlace extends Context.Service<DataPlace, { readonly description: string }>()(
  "agent-memory/server/sql/Database/DataPlace"
) {}

const session = {
  applicationName: "agent-memory",
  // A name the database's own defaults could change would change answers or hang requests.
  startupParameters: {
    timezone: "UTC",
    statement_timeout: "10s",
    lock_timeout: "5s",
    idle_in_transaction_session_timeout: "15s",
    max_parallel_workers_per_gather: "0"
  },
  connectTimeout: "2 seconds",
  maxConnections: 20
} as const

const oldestServer = 15

/** The pool of one external server. */
export const externalPool = (url: Redacted.Redacted) => PgClient.make({ ...session, url })

/** The innermost reason of a failed connection: a refusal, an unknown host, or PostgreSQL's own words. */
const rootReason = (error: unknown): string => {
  if (!(error instanceof Error)) return "no reason was given"
  if (error instanceof AggregateError && error.errors.length > 0) return rootReason(error.errors[0])
  return error.cause instanceof Error ? rootReason(error.cause) : error.message
}

const unreachable = (error: SqlError.SqlError) =>
  new DatabaseProblem({
    message: `The database of DATABASE_URL cannot be used: ${rootReason(error.reason)}\nCheck DATABASE_URL, and that the server runs and takes connections; or unset it to use the embedded database.`
  })

const checkVersion = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const rows = yield* sql<{ version: number; encoding: string }>`
    SELECT current_setting('server_version_num')::integer / 10000 AS version,
      current_setting('server_encoding') AS encoding
  `.pipe(Effect.mapError(unreachable))
  const { encoding, version } = rows[0]!
  if (version < oldestServer) {
    return yield* new DatabaseProblem({
      message: `DATABASE_URL leads to PostgreSQL ${version}; Agent Memory needs ${oldestServer} or later.`
    })
  }
  if (encoding !== "UTF8") {
    return yield* new DatabaseProblem({
      message: `The database of DATABASE_URL is encoded in ${encoding}. Create it with ENCODING 'UTF8'.`
    })
  }
})

const external = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const client = yield* externalPool(url).pipe(Effect.mapError(unreachable))
  yield* checkVersion(client)
  return { client, description: "in the PostgreSQL database of DATABASE_URL" }
})

const embedded = Effect.fnUntraced(function* (folder: string) {
  const { dataDir, database, host, port, username } = yield* makeEmbedded({ dataDir: folder })
  const client = yield* PgClient.make({ ...session, host, port, username, database })
  return { client, description: `in ${dataDir} (embedded PostgreSQL)` }
})

/**
 * The service's database, migrated: the server of `DATABASE_URL`, or without one the embedded PostgreSQL in `DATA_DIR`.
 */
export const DatabaseLayer = Layer.effectContext(
  Effect.gen(function* () {
    const settings = yield* Settings
    const { client, description } = Option.isSome(settings.databaseUrl)
      ? yield* external(settings.databaseUrl.value)
      : yield* embedded(settings.dataDir)
    yield* migrate.pipe(
      Effect.provideService(SqlClient.SqlClient, client),
      Effect.mapError(
        (error) => new DatabaseProblem({ message: `The database could not be migrated: ${error.message}` })
      )
    )
    yield* Metrics.databaseConnections(session.maxConnections)
    return Context.make(PgClient.PgClient, client).pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(DataPlace, { description })
    )
  })
).pipe(Layer.provide(Reactivity.layer))
