import { PgConnection } from "@effect/sql-pg"
import { Effect, Option, type Scope } from "effect"
import * as fs from "node:fs"
import { basename, join, resolve } from "node:path"
import { traced } from "../telemetry/Telemetry.ts"
import { currentOwner, letThrough, type Owner, port, readForeign, userName } from "./EmbeddedAccess.ts"
import { attempt, EmbeddedPostgresError, failure, findHolder, holdLock } from "./EmbeddedProcess.ts"
import { findPrograms, type Programs, runProgram, sharedFolder } from "./EmbeddedPrograms.ts"
import { findServer, runServer, type Server } from "./EmbeddedServer.ts"

/** How to run the embedded database. */
export interface EmbeddedPostgresOptions {
  readonly dataDir: string
  /** False loses data in a power failure and is faster: for throw-away data only. Default: true. */
  readonly durable?: boolean | undefined
  /** Further PostgreSQL settings, by name. */
  readonly settings?: Readonly<Record<string, string>> | undefined
}

/** The embedded database's address, as options of `PgClient`. */
export interface EmbeddedPostgresAddress {
  /** The folder of the server's socket. */
  readonly host: string
  readonly port: number
  readonly username: string
  readonly database: string
  /** Where the files are: the folder asked for, or another one if the database's user cannot reach that. */
  readonly dataDir: string
}

const databaseName = "agent_memory"

const sharedWarning =
  `Under root the embedded database runs as the user nobody, so other programs that run as nobody can read and change its ` +
  `files. Run Agent Memory as its own user, or create a system user ${userName} before the first start: ` +
  `useradd --system ${userName}`

const addressOf = ({ socketFolder }: Server, dataDir: string): EmbeddedPostgresAddress => ({
  host: socketFolder,
  port,
  username: superuser,
  database: databaseName,
  dataDir
})

const createDatabase = traced("EmbeddedPostgres.createDatabase")(
  function* ({ host, port, username }: EmbeddedPostgresAddress) {
    const connection = yield* PgConnection.make({ host, port, username, database: "postgres" })
    const found = yield* connection.queryValues("SELECT 1 FROM pg_database WHERE datname = $1", [databaseName])
    if (found.length === 0) yield* connection.query(`CREATE DATABASE ${databaseName}`)
  },
  Effect.scoped,
  Effect.mapError(({ message }) => failure(`Could not prepare the database ${databaseName}: ${message}`))
)

/**
 * Runs a private PostgreSQL on a data directory until the scope closes. A second process on the directory is refused with
 * the first one's process id. Committed data survives `kill -9` of this process, and the next start takes over the server
 * that was left running.
 */
export const makeEmbedded: (
  options: EmbeddedPostgresOptions
) => Effect.Effect<EmbeddedPostgresAddress, EmbeddedPostgresError, Scope.Scope> = traced("EmbeddedPostgres.make")(
  function* ({ dataDir, durable = true, settings = {} }) {
    if (process.platform === "win32") {
      return yield* failure("The embedded database needs Unix sockets. On Windows set DATABASE_URL, or use WSL.")
    }
    const owner = currentOwner(clusterOf(yield* homeOf(dataDir)))
    const home = yield* makeHome(dataDir, owner)
    yield* holdLock(home)
    const programs = yield* findPrograms(owner, home)
    const cluster = yield* openCluster(programs, owner, home, durable)
    const address = addressOf(yield* runServer({ programs, owner, home, cluster, durable, settings }), home)
    yield* createDatabase(address)
    if (owner.isShared && durable) yield* Effect.logWarning(sharedWarning)
    yield* Effect.logDebug(`Embedded PostgreSQL ${programs.major} runs on ${cluster}`)
    return address
  }
)

/**
 * The address of a running Agent Memory's embedded database, for programs beside it; none while no process uses the data
 * directory.
 */
export const findEmbedded = traced("EmbeddedPostgres.find")(function* (dataDir: string) {
  const home = yield* homeOf(dataDir)
  const holder = yield* findHolder(home)
  if (Option.isNone(holder)) return Option.none<EmbeddedPostgresAddress>()
  const server = yield* findServer(home, clusterOf(home))
  if (Option.isNone(server)) {
    return yield* failure(
      `Agent Memory, process ${holder.value}, uses the data in ${home}, but its database does not respond here. Wait ` +
        `until it has started. If it runs on another host or in another container, run this command there.`
    )
  }
  return Option.some(addressOf(server.value, home))
})

/** The link in a DATA_DIR whose files are elsewhere. */
const elsewhere = "moved-to"

/** Runs a call on the folder of DATA_DIR. Its failure says how to choose another one. */
const withFolder = <A>(wanted: string, run: () => A) =>
  attempt(`use the folder ${wanted}`, run).pipe(
    Effect.mapError(({ message }) =>
      failure(`${message}\nSet DATA_DIR to a folder that this user can write to or create.`)
    )
  )

/**
 * The folder with a DATA_DIR's files: itself, or the target of its `moved-to` link if the database's user cannot reach it
 * (a checkout in root's closed home).
 */
export const homeOf = Effect.fnUntraced(function* (dataDir: string) {
  const wanted = resolve(dataDir)
  const link = join(wanted, elsewhere)
  return yield* withFolder(wanted, () =>
    fs.lstatSync(link, { throwIfNoEntry: false }) === undefined ? wanted : fs.realpathSync(link)
  )
})

/** Creates the folder of {@link homeOf} where the owner can reach it. */
const makeHome = traced("EmbeddedPostgres.makeHome")(function* (dataDir: string, owner: Owner) {
  const wanted = resolve(dataDir)
  yield* withFolder(wanted, () => fs.mkdirSync(wanted, { recursive: true, mode: 0o700 }))
  const existing = yield* homeOf(dataDir)
  const home = yield* attempt(`find ${existing}`, () => fs.realpathSync(existing))
  yield* letThrough(owner, home)
  if (yield* attempt(`look at ${home}`, () => owner.reaches(home))) return home
  if (home !== fs.realpathSync(wanted) || fs.existsSync(clusterOf(home))) {
    return yield* failure(
      `The embedded database runs as an unprivileged user that cannot reach ${home}. Allow passing through the folders ` +
        `above it (chmod o+x), or set DATA_DIR to another folder, or set DATABASE_URL to a PostgreSQL server.`
    )
  }
  const moved = yield* attempt(`create a folder in ${sharedFolder}`, () => {
    fs.mkdirSync(sharedFolder, { recursive: true, mode: 0o755 })
    const folder = fs.mkdtempSync(join(sharedFolder, "data-"))
    fs.symlinkSync(folder, join(wanted, elsewhere))
    return folder
  })
  yield* letThrough(owner, moved)
  yield* Effect.logWarning(
    `The embedded database's unprivileged user cannot reach ${wanted}, so its files are in ${moved} (linked from ` +
      `${join(wanted, elsewhere)}). To choose the folder, set DATA_DIR to one outside of a closed home.`
  )
  return moved
})

/** The role that owns everything in the embedded database. */
const superuser = "postgres"

/** The folder of a data directory's cluster. */
export const clusterOf = (home: string): string => join(home, "postgres")

const initialise = traced("EmbeddedPostgres.initialise")(function* (
  programs: Programs,
  owner: Owner,
  home: string,
  durable: boolean
) {
  const draft = `${clusterOf(home)}.new-`
  const unfinished = yield* attempt(`create a folder in ${home}`, () => {
    for (const name of fs.readdirSync(home)) {
      if (name.startsWith(basename(draft))) fs.rmSync(join(home, name), { recursive: true, force: true })
    }
    const folder = fs.mkdtempSync(draft)
    owner.take(folder)
    return folder
  })
  yield* runProgram(
    programs.initdb,
    [
      `--pgdata=${unfinished}`,
      `--username=${superuser}`,
      "--auth=trust",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-instructions",
      ...(durable ? [] : ["--no-sync"])
    ],
    owner
  )
  // A process that dies before this line leaves a folder that the next start removes, not half a cluster.
  yield* attempt(`finish the cluster in ${home}`, () => fs.renameSync(unfinished, clusterOf(home)))
})

const openCluster = traced("EmbeddedPostgres.openCluster")(function* (
  programs: Programs,
  owner: Owner,
  home: string,
  durable: boolean
) {
  const cluster = clusterOf(home)
  if (!fs.existsSync(cluster)) {
    yield* initialise(programs, owner, home, durable)
    return cluster
  }
  const version = yield* attempt(`read the version of ${cluster}`, () =>
    readForeign(join(cluster, "PG_VERSION")).trim()
  )
  if (version === String(programs.major)) return cluster
  return yield* new EmbeddedPostgresError({
    reason: "OtherMajor",
    message:
      `The data in ${cluster} is of PostgreSQL ${version}; this release runs PostgreSQL ${programs.major}, ` +
      `which cannot open it. Start the release that wrote it and export your data. Then set DATA_DIR to an empty ` +
      `folder, start this release and import. Nothing was changed.`
  })
})
