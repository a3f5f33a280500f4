import { PgConnection } from "@effect/sql-pg"
import { Effect, Option, type Scope } from "effect"
import { clusterOf, openCluster, superuser } from "./EmbeddedCluster.ts"
import { homeOf, makeHome } from "./EmbeddedHome.ts"
import { findHolder, holdLock } from "./EmbeddedLock.ts"
import { currentOwner, userName } from "./EmbeddedOwner.ts"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { findPrograms } from "./EmbeddedPrograms.ts"
import { findServer, runServer, type Server } from "./EmbeddedServer.ts"
import { port } from "./EmbeddedSocket.ts"

/** How to run the embedded database. */
export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  /** False trades safety against power loss for speed: for throw-away data only. Default: true. */
  readonly durable?: boolean | undefined
  /** Further PostgreSQL settings, by name. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** Where the embedded database answers, in the words of `PgClient`'s configuration. */
export interface EmbeddedPostgresAddress {
  /** The folder of the server's socket. */
  readonly host: string
  readonly port: number
  readonly username: string
  readonly database: string
  /** The folder that really holds the files; another one than asked for where the database's user could not reach that. */
  readonly dataDir: string
}

const databaseName = "agent_memory"

const sharedWarning =
  `Under root the embedded database runs as the user nobody, so other programs that run as nobody can read and change its ` +
  `files. Run Agent Memory as a user of its own, or make a system user ${userName} before the first start: ` +
  `useradd --system ${userName}`

const createDatabase = Effect.fn("EmbeddedPostgres.createDatabase")(
  function* ({ socketFolder }: Server) {
    const connection = yield* PgConnection.make({ host: socketFolder, port, username: superuser, database: "postgres" })
    const found = yield* connection.queryValues("SELECT 1 FROM pg_database WHERE datname = $1", [databaseName])
    if (found.length === 0) yield* connection.query(`CREATE DATABASE ${databaseName}`)
  },
  Effect.scoped,
  Effect.mapError(
    (error) =>
      new EmbeddedPostgresError({
        reason: "Failed",
        message: `Could not prepare the database ${databaseName}: ${error.message}`
      })
  )
)

/**
 * Runs a PostgreSQL of its own on a data directory until the scope closes. One process at a time: another one is refused
 * with the holder's process id. Data outlives kill -9 of this process, and the server left behind by that is taken over.
 */
export const makeEmbedded: (
  options: EmbeddedPostgresOptions
) => Effect.Effect<EmbeddedPostgresAddress, EmbeddedPostgresError, Scope.Scope> = Effect.fn("EmbeddedPostgres.make")(
  function* ({ dataDir, durable = true, settings = {} }) {
    if (process.platform === "win32") {
      return yield* new EmbeddedPostgresError({
        reason: "NoPrograms",
        message: "The embedded database needs Unix sockets. On Windows set DATABASE_URL, or use WSL."
      })
    }
    const owner = currentOwner(clusterOf(yield* homeOf(dataDir)))
    const home = yield* makeHome(dataDir, owner)
    yield* holdLock(home)
    const programs = yield* findPrograms(owner)
    const cluster = yield* openCluster(programs, owner, home, durable)
    const server = yield* runServer({ programs, owner, home, cluster, durable, settings })
    yield* createDatabase(server)
    if (owner.isShared && durable) yield* Effect.logWarning(sharedWarning)
    yield* Effect.logDebug(`Embedded PostgreSQL ${programs.major} runs on ${cluster}`)
    return {
      host: server.socketFolder,
      port,
      username: superuser,
      database: databaseName,
      dataDir: home
    }
  }
)

/**
 * Where the embedded database of a running Agent Memory answers, for programs beside it; none while nobody holds the data
 * directory. Its lock file names the holder, and a file of the holder's the folder of the socket.
 */
export const findEmbedded = Effect.fn("EmbeddedPostgres.find")(function* (dataDir: string) {
  const home = yield* homeOf(dataDir)
  const holder = yield* findHolder(home)
  if (Option.isNone(holder)) return Option.none<EmbeddedPostgresAddress>()
  const server = yield* findServer(home, clusterOf(home))
  if (Option.isNone(server)) {
    return yield* new EmbeddedPostgresError({
      reason: "Unreachable",
      message:
        `Agent Memory, process ${holder.value}, holds the data in ${home}, but its database does not answer here. Wait ` +
        `until it has started; on another host or in another container, run this command there.`
    })
  }
  const { socketFolder } = server.value
  return Option.some<EmbeddedPostgresAddress>({
    host: socketFolder,
    port,
    username: superuser,
    database: databaseName,
    dataDir: home
  })
})

/** The process id of the Agent Memory that uses a data directory, if one does. */
export const holderOf = Effect.fn("EmbeddedPostgres.holderOf")(function* (dataDir: string) {
  return yield* findHolder(yield* homeOf(dataDir))
})
