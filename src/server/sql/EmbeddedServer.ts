import { Effect, Option, Ref } from "effect"
import type { ChildProcess } from "node:child_process"
import { closeSync, openSync, readFileSync, renameSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import { changeForeign, readForeign } from "./EmbeddedFiles.ts"
import type { Owner } from "./EmbeddedOwner.ts"
import { attempt, EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import type { Programs } from "./EmbeddedPrograms.ts"
import { pause, runs, servesCluster, signalable, spawnServer, waitUntil } from "./EmbeddedProcess.ts"
import {
  accessSettings,
  makeSocketFolder,
  notedSocketFolder,
  port,
  removeSocketFolder,
  socketIn
} from "./EmbeddedSocket.ts"

/** A running PostgreSQL server: its process and where its socket is. */
export interface Server {
  readonly pid: number
  readonly socketFolder: string
}

/** What a server is started on. */
export interface ServerInput {
  readonly programs: Programs
  readonly owner: Owner
  readonly home: string
  readonly cluster: string
  readonly durable: boolean
  readonly settings: Readonly<Record<string, string>>
}

const largestLog = 10 * 1024 * 1024

/** Fast shutdown writes everything out; where the disk is too slow for that, recovery does it on the next start. */
const fastMilliseconds = 6000
const immediateMilliseconds = 2000

const settingsOf = (
  { durable, settings }: ServerInput,
  socketFolder: string,
  access: Readonly<Record<string, string>>
): ReadonlyArray<string> =>
  Object.entries({
    listen_addresses: "",
    unix_socket_directories: socketFolder,
    unix_socket_permissions: "0700",
    port: String(port),
    fsync: durable ? "on" : "off",
    synchronous_commit: durable ? "on" : "off",
    full_page_writes: durable ? "on" : "off",
    max_parallel_workers_per_gather: "0",
    jit: "off",
    shared_buffers: "64MB",
    max_wal_size: "256MB",
    huge_pages: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    logging_collector: "off",
    ...access,
    ...settings
  }).flatMap(([name, value]) => ["-c", `${name}=${value}`])

interface Postmaster {
  readonly pid: number
  readonly ready: boolean
}

/**
 * PostgreSQL writes its process and state into this file, and removes it when it stops. Whoever runs as its user can write
 * there too, so that nothing else is believed of it.
 */
const readPostmaster = (cluster: string): Postmaster | undefined => {
  try {
    const lines = readForeign(join(cluster, "postmaster.pid")).split("\n")
    const pid = Number(lines[0])
    return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === "ready" } : undefined
  } catch {
    return undefined
  }
}

const logOf = (home: string) => join(home, "postgres.log")

const openLog = (home: string): number => {
  const log = logOf(home)
  if ((statSync(log, { throwIfNoEntry: false })?.size ?? 0) > largestLog) renameSync(log, `${log}.1`)
  return openSync(log, "a", 0o600)
}

const endOfLog = (home: string) =>
  attempt("read the log", () => readFileSync(logOf(home), "utf8").trimEnd().split("\n").slice(-4).join("\n")).pipe(
    Effect.orElseSucceed(() => "")
  )

const ended = (child: ChildProcess) => child.pid === undefined || child.exitCode !== null || child.signalCode !== null

/** Recovery after a crash takes as long as it takes, so only the end of the process ends the wait. */
const awaitReady = Effect.fnUntraced(function* (child: ChildProcess, { cluster, home }: ServerInput) {
  const isReady = () => {
    const postmaster = readPostmaster(cluster)
    return postmaster?.ready === true && postmaster.pid === child.pid
  }
  yield* waitUntil(() => ended(child) || isReady(), Number.POSITIVE_INFINITY)
  if (!ended(child)) return
  return yield* new EmbeddedPostgresError({
    reason: "Failed",
    message: `The embedded PostgreSQL ended while it started. The end of ${logOf(home)}:\n${yield* endOfLog(home)}`
  })
})

const signal = (pid: number, name: "SIGINT" | "SIGQUIT") =>
  attempt("stop", () => process.kill(pid, name)).pipe(Effect.ignore)

/** Stops a server within seconds: connections are cut, and what was committed is on disk. */
const end = Effect.fnUntraced(function* (pid: number) {
  yield* signal(pid, "SIGINT")
  if (!(yield* waitUntil(() => !runs(pid), fastMilliseconds))) {
    yield* signal(pid, "SIGQUIT")
    yield* waitUntil(() => !runs(pid), immediateMilliseconds)
  }
})

const stop = Effect.fn("EmbeddedPostgres.stop")(function* ({ owner }: ServerInput, { pid, socketFolder }: Server) {
  yield* end(pid)
  yield* removeSocketFolder(owner, socketFolder)
})

const spawnPostgres = Effect.fnUntraced(function* (input: ServerInput, socketFolder: string) {
  const access = yield* accessSettings(input.owner, input.home)
  const log = yield* attempt(`open ${logOf(input.home)}`, () => openLog(input.home))
  return yield* spawnServer(
    input.programs.postgres,
    ["-D", input.cluster, ...settingsOf(input, socketFolder, access)],
    input.owner,
    log
  ).pipe(Effect.ensuring(Effect.sync(() => closeSync(log))))
})

const start = Effect.fn("EmbeddedPostgres.start")((input: ServerInput, socketFolder: string) =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const child = yield* spawnPostgres(input, socketFolder)
      const server: Server = { pid: child.pid ?? 0, socketFolder }
      yield* restore(awaitReady(child, input)).pipe(
        Effect.onError(() => (ended(child) ? Effect.void : end(server.pid)))
      )
      return server
    })
  )
)

const answers = (socketFolder: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect({ path: socketIn(socketFolder), timeout: 1000 })
    const done = (answer: boolean) => {
      socket.destroy()
      resume(Effect.succeed(answer))
    }
    socket.on("connect", () => done(true))
    socket.on("error", () => done(false))
    socket.on("timeout", () => done(false))
  })

/**
 * Makes a dead server's file say so. PostgreSQL takes any process with the dead server's id for that server, be it a
 * stranger who was given the id or an unreaped corpse. It makes an exception for its own parent, and then still looks
 * for the dead server's orphans.
 */
const abandon = Effect.fnUntraced(function* (cluster: string) {
  const dead = readPostmaster(cluster)
  if (dead === undefined || !signalable(dead.pid)) return
  const file = join(cluster, "postmaster.pid")
  yield* attempt(`write ${file}`, () => changeForeign(file, (text) => text.replace(/^\d+/, String(process.pid))))
})

/** The server that runs on a cluster for another process now, if one does. */
export const findServer = Effect.fnUntraced(function* (home: string, cluster: string) {
  const postmaster = readPostmaster(cluster)
  const socketFolder = notedSocketFolder(home)
  if (postmaster?.ready !== true || socketFolder === undefined) return Option.none<Server>()
  return (yield* answers(socketFolder)) ? Option.some<Server>({ pid: postmaster.pid, socketFolder }) : Option.none()
})

/** The server that an earlier Agent Memory left behind when it was killed, once it is ready; one that cannot be used is stopped. */
const adopt = Effect.fn("EmbeddedPostgres.adopt")(function* ({ cluster, home, owner }: ServerInput) {
  const socketFolder = notedSocketFolder(home)
  const forget = socketFolder === undefined ? Effect.void : removeSocketFolder(owner, socketFolder)
  const found = readPostmaster(cluster)
  if (found === undefined || !servesCluster(found.pid, cluster, owner)) {
    if (found !== undefined) yield* abandon(cluster)
    yield* forget
    return Option.none<Server>()
  }
  yield* waitUntil(() => !runs(found.pid) || readPostmaster(cluster)?.ready === true, fastMilliseconds)
  if (socketFolder !== undefined && runs(found.pid) && (yield* answers(socketFolder))) {
    yield* Effect.logWarning(
      `The embedded PostgreSQL of a service that was killed still ran (process ${found.pid}) and is used on`
    )
    return Option.some<Server>({ pid: found.pid, socketFolder })
  }
  yield* end(found.pid)
  yield* forget
  return Option.none<Server>()
})

/** After the server alone was killed, its connections' processes live on for a moment; PostgreSQL waits for nobody. */
const hasOrphans = (error: EmbeddedPostgresError) => error.message.includes("pre-existing shared memory block")

const startWithoutOrphans = (input: ServerInput, socketFolder: string) =>
  start(input, socketFolder).pipe(
    Effect.tapError((error) => (hasOrphans(error) ? pause(100) : Effect.void)),
    Effect.retry({ while: hasOrphans, times: 50 })
  )

const startFresh = Effect.fnUntraced(function* (input: ServerInput) {
  const socketFolder = yield* makeSocketFolder(input.owner, input.home)
  return yield* startWithoutOrphans(input, socketFolder).pipe(
    Effect.onError(() => removeSocketFolder(input.owner, socketFolder))
  )
})

const restart = Effect.fn("EmbeddedPostgres.restart")(function* (input: ServerInput, { socketFolder }: Server) {
  yield* Effect.logError(`The embedded PostgreSQL ended unexpectedly and is started again; see ${logOf(input.home)}`)
  yield* abandon(input.cluster)
  return yield* startWithoutOrphans(input, socketFolder)
})

/** Out of memory is what kills a server in practice, and the service outlives it: requests fail until this has started it again. */
const keepRunning = Effect.fnUntraced(function* (input: ServerInput, current: Ref.Ref<Server>) {
  while (true) {
    const server = yield* Ref.get(current)
    yield* waitUntil(() => !runs(server.pid), Number.POSITIVE_INFINITY, 250)
    yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(restart(input, server)), (started) => Ref.set(current, started))
    ).pipe(Effect.catch((error) => Effect.andThen(Effect.logError(error.message), pause(1000))))
  }
})

/** Runs a server on a cluster until the scope closes, taking over one that already runs there. */
export const runServer = Effect.fn("EmbeddedPostgres.runServer")(function* (input: ServerInput) {
  const current = yield* Effect.acquireRelease(
    Effect.gen(function* () {
      const adopted = yield* adopt(input)
      return yield* Ref.make(Option.isSome(adopted) ? adopted.value : yield* startFresh(input))
    }),
    (current) => Effect.flatMap(Ref.get(current), (server) => stop(input, server)),
    { interruptible: true }
  )
  yield* Effect.forkScoped(keepRunning(input, current))
  return yield* Ref.get(current)
})
