import { Effect, Option, Ref } from "effect"
import type { ChildProcess } from "node:child_process"
import { closeSync, openSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { connect } from "node:net"
import { join } from "node:path"
import {
  accessSettings,
  changeForeign,
  makeSocketFolder,
  notedSocketFolder,
  type Owner,
  port,
  readForeign,
  removeSocketFolder,
  socketIn
} from "./EmbeddedAccess.ts"
import {
  attempt,
  type EmbeddedPostgresError,
  failure,
  orUndefined,
  pause,
  runs,
  servesCluster,
  signalable,
  waitUntil
} from "./EmbeddedProcess.ts"
import { spawnServer, type Programs } from "./EmbeddedPrograms.ts"
import { traced } from "../telemetry/Telemetry.ts"

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

// In milliseconds. A fast shutdown writes everything out. If the disk is too slow for that, the next start recovers it.
const fastMilliseconds = 6000
const fastShutdown = ["SIGINT", fastMilliseconds] as const
const immediateShutdown = ["SIGQUIT", 2000] as const

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

const postmasterFile = (cluster: string) => join(cluster, "postmaster.pid")

/**
 * PostgreSQL writes its process and state into this file, and removes it when it stops. Every process of its user can write
 * it, so nothing more is read from it.
 */
const readPostmaster = (cluster: string) => {
  const lines = orUndefined(() => readForeign(postmasterFile(cluster)))?.split("\n") ?? []
  const pid = Number(lines[0])
  return Number.isInteger(pid) && pid > 0 ? { pid, ready: lines[7]?.trim() === "ready" } : undefined
}

const logOf = (home: string) => join(home, "postgres.log")

const ended = (child: ChildProcess) => child.pid === undefined || child.exitCode !== null || child.signalCode !== null

/** Waits without a limit while the process runs, because recovery after a crash has none. */
const awaitReady = Effect.fnUntraced(function* (child: ChildProcess, { cluster, home }: ServerInput) {
  const isReady = () => {
    const postmaster = readPostmaster(cluster)
    return postmaster?.ready === true && postmaster.pid === child.pid
  }
  yield* waitUntil(() => ended(child) || isReady(), Number.POSITIVE_INFINITY)
  if (!ended(child)) return
  const log = orUndefined(() => readFileSync(logOf(home), "utf8")) ?? ""
  const end = log.trimEnd().split("\n").slice(-4).join("\n")
  return yield* failure(`The embedded PostgreSQL stopped while starting. The end of ${logOf(home)}:\n${end}`)
})

/** Stops a server within seconds and closes its connections. Committed data is on disk. */
const end = Effect.fnUntraced(function* (pid: number) {
  for (const [signal, milliseconds] of [fastShutdown, immediateShutdown]) {
    orUndefined(() => process.kill(pid, signal))
    if (yield* waitUntil(() => !runs(pid), milliseconds)) return
  }
})

const stop = traced("EmbeddedPostgres.stop")(function* ({ owner }: ServerInput, { pid, socketFolder }: Server) {
  yield* end(pid)
  yield* removeSocketFolder(owner, socketFolder)
})

const spawnPostgres = Effect.fnUntraced(function* (input: ServerInput, socketFolder: string) {
  const { cluster, home, owner, programs } = input
  const settings = settingsOf(input, socketFolder, yield* accessSettings(owner, home))
  const file = logOf(home)
  const log = yield* attempt(`open ${file}`, () => {
    if ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) > largestLog) renameSync(file, `${file}.1`)
    return openSync(file, "a", 0o600)
  })
  return yield* spawnServer(programs.postgres, ["-D", cluster, ...settings], owner, log).pipe(
    Effect.ensuring(Effect.sync(() => closeSync(log)))
  )
})

const start = traced("EmbeddedPostgres.start")((input: ServerInput, socketFolder: string) =>
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

const accepts = (socketFolder: string) =>
  Effect.callback<boolean>((resume) => {
    const socket = connect({ path: socketIn(socketFolder), timeout: 1000 })
    const done = (accepted: boolean) => {
      socket.destroy()
      resume(Effect.succeed(accepted))
    }
    socket
      .on("connect", () => done(true))
      .on("error", () => done(false))
      .on("timeout", () => done(false))
  })

/**
 * Writes this process's id into a dead server's file. PostgreSQL takes any process with the recorded id for the running
 * server, even one that was given the id later or is unreaped, but ignores its own parent. It still looks for the dead
 * server's orphans then.
 */
const abandon = Effect.fnUntraced(function* (cluster: string) {
  const dead = readPostmaster(cluster)
  if (dead === undefined || !signalable(dead.pid)) return
  const file = postmasterFile(cluster)
  yield* attempt(`write ${file}`, () => changeForeign(file, (text) => text.replace(/^\d+/, String(process.pid))))
})

/** The server that runs on a cluster for another process now, if any. */
export const findServer = Effect.fnUntraced(function* (home: string, cluster: string) {
  const postmaster = readPostmaster(cluster)
  const socketFolder = notedSocketFolder(home)
  if (postmaster?.ready !== true || socketFolder === undefined) return Option.none<Server>()
  return (yield* accepts(socketFolder)) ? Option.some<Server>({ pid: postmaster.pid, socketFolder }) : Option.none()
})

/** The server that an earlier Agent Memory left running when it was killed, once it is ready. An unusable one is stopped. */
const adopt = traced("EmbeddedPostgres.adopt")(function* ({ cluster, home, owner }: ServerInput) {
  const socketFolder = notedSocketFolder(home)
  const found = readPostmaster(cluster)
  if (found !== undefined && servesCluster(found.pid, cluster, owner.credentials.uid)) {
    yield* waitUntil(() => !runs(found.pid) || readPostmaster(cluster)?.ready === true, fastMilliseconds)
    if (socketFolder !== undefined && runs(found.pid) && (yield* accepts(socketFolder))) {
      yield* Effect.logWarning(
        `Using the embedded PostgreSQL (process ${found.pid}) that a killed service left running`
      )
      return { pid: found.pid, socketFolder }
    }
    yield* end(found.pid)
  } else if (found !== undefined) {
    yield* abandon(cluster)
  }
  if (socketFolder !== undefined) yield* removeSocketFolder(owner, socketFolder)
  return undefined
})

/** After a server was killed, the processes of its connections run on for a moment, and PostgreSQL refuses to start. */
const hasOrphans = ({ message }: EmbeddedPostgresError) => message.includes("pre-existing shared memory block")

const foundEmptyFile = ({ message }: EmbeddedPostgresError) => message.includes('lock file "postmaster.pid" is empty')

/**
 * Removes the empty file of a server that was killed before it wrote its process into it: PostgreSQL refuses to start for
 * ever with one. A server that is starting right now fills it in time.
 */
const removeEmpty = Effect.fnUntraced(function* (cluster: string) {
  const file = postmasterFile(cluster)
  const isFilled = () => statSync(file, { throwIfNoEntry: false })?.size !== 0
  if (yield* waitUntil(isFilled, 500)) return
  yield* attempt(`remove ${file}`, () => rmSync(file, { force: true }))
})

const startOnRemains = (input: ServerInput, socketFolder: string) =>
  start(input, socketFolder).pipe(
    Effect.tapError((error) => {
      if (foundEmptyFile(error)) return removeEmpty(input.cluster)
      return hasOrphans(error) ? pause(100) : Effect.void
    }),
    Effect.retry({ while: (error) => hasOrphans(error) || foundEmptyFile(error), times: 50 })
  )

const startFresh = Effect.fnUntraced(function* (input: ServerInput) {
  const socketFolder = yield* makeSocketFolder(input.owner, input.home)
  return yield* startOnRemains(input, socketFolder).pipe(
    Effect.onError(() => removeSocketFolder(input.owner, socketFolder))
  )
})

const restart = traced("EmbeddedPostgres.restart")(function* (input: ServerInput, { socketFolder }: Server) {
  yield* Effect.logError(`The embedded PostgreSQL stopped unexpectedly and is restarted; see ${logOf(input.home)}`)
  yield* abandon(input.cluster)
  return yield* startOnRemains(input, socketFolder)
})

/** Restarts a server that was killed, mostly for want of memory. Requests fail until it runs again. */
const keepRunning = Effect.fnUntraced(function* (input: ServerInput, current: Ref.Ref<Server>) {
  while (true) {
    const server = yield* Ref.get(current)
    yield* waitUntil(() => !runs(server.pid), Number.POSITIVE_INFINITY, 250)
    yield* Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(restore(restart(input, server)), (started) => Ref.set(current, started))
    ).pipe(Effect.catch((error) => Effect.andThen(Effect.logError(error.message), pause(1000))))
  }
})

/** Runs a server on a cluster until the scope closes. One that already runs there is taken over. */
export const runServer = traced("EmbeddedPostgres.runServer")(function* (input: ServerInput) {
  const current = yield* Effect.acquireRelease(
    Effect.gen(function* () {
      return yield* Ref.make<Server>((yield* adopt(input)) ?? (yield* startFresh(input)))
    }),
    (current) => Effect.flatMap(Ref.get(current), (server) => stop(input, server)),
    { interruptible: true }
  )
  yield* Effect.forkScoped(keepRunning(input, current))
  return yield* Ref.get(current)
})
