import { Effect, Option, Schema } from "effect"
import { spawnSync } from "node:child_process"
import * as fs from "node:fs"
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { traced } from "../telemetry/Telemetry.ts"
import { codeOf } from "./SqlFailure.ts"

/** The embedded PostgreSQL cannot be used; `message` gives the cause and the remedy. */
export class EmbeddedPostgresError extends Schema.TaggedError<EmbeddedPostgresError>()("EmbeddedPostgresError", {
  reason: Schema.Literals(["Held", "OtherMajor", "Failed"]),
  message: Schema.String,
  /** The process that holds the data directory, when `reason` is `Held`. */
  holder: Schema.optionalKey(Schema.Int)
}) {}

/** A failure whose kind matters to no caller. */
export const failure = (message: string) => new EmbeddedPostgresError({ reason: "Failed", message })

/** Runs a call into the operating system; `doing` completes the sentence "Could not ..." of its failure. */
export const attempt = <A>(doing: string, run: () => A): Effect.Effect<A, EmbeddedPostgresError> =>
  Effect.try({
    try: run,
    catch: (cause) => failure(`Could not ${doing}: ${cause instanceof Error ? cause.message : String(cause)}`)
  })

/** The result of a call into the operating system, or undefined if it fails. */
export const orUndefined = <A>(run: () => A): A | undefined => {
  try {
    return run()
  } catch {
    return undefined
  }
}

/** Waits in real time whatever `Clock` is provided, because other processes run in real time. */
export const pause = (milliseconds: number) =>
  Effect.promise((signal) => setTimeout(milliseconds, undefined, { signal }))

/** Polls `ready` until it is true, for at most `milliseconds`. Returns whether it became true. */
export const waitUntil = Effect.fnUntraced(function* (ready: () => boolean, milliseconds: number, interval = 10) {
  for (let waited = 0; !ready(); waited += interval) {
    if (waited >= milliseconds) return false
    yield* pause(interval)
  }
  return true
})

/** Whether the operating system still knows the process, ended and unreaped ones included. */
export const signalable = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === "EPERM"
  }
}

const processTable = (pid: number, column: string): string | undefined =>
  spawnSync("ps", ["-o", `${column}=`, "-p", String(pid)], { encoding: "utf8" }).stdout?.trim() || undefined

const read = (file: string): string | undefined => orUndefined(() => fs.readFileSync(file, "utf8"))

/**
 * When a process started, as the operating system writes it, or undefined if it does not run. Process ids are reused;
 * an id together with a start time is unique.
 */
const startOf = (pid: number): string | undefined => {
  if (!signalable(pid)) return undefined
  if (process.platform !== "linux") return processTable(pid, "lstart") ?? "unknown"
  const stat = read(`/proc/${pid}/stat`)
  // The program's name, in parentheses, can contain spaces, so fields are counted from its end.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
  const state = fields?.[0]
  return state === undefined || state === "Z" || state === "X" ? undefined : fields?.[19]
}

export const runs = (pid: number): boolean =>
  process.platform === "linux" ? startOf(pid) !== undefined : signalable(pid)

/** Identifies the namespace of process ids: containers that share a volume have different ones. */
const processSpace = (): string =>
  [
    hostname(),
    read("/proc/sys/kernel/random/boot_id")?.trim(),
    orUndefined(() => fs.readlinkSync("/proc/self/ns/pid"))
  ].join(" ")

/** Whether a process of the user is a PostgreSQL server on this cluster: its working directory is the cluster's. */
export const servesCluster = (pid: number, cluster: string, uid = process.getuid?.()): boolean => {
  if (!runs(pid)) return false
  if (process.platform === "linux") {
    const user = fs.statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
    return user === uid && orUndefined(() => fs.readlinkSync(`/proc/${pid}/cwd`)) === cluster
  }
  return processTable(pid, "command")?.includes(cluster) ?? false
}

/** Schema for the lock file: the process that uses a data directory. */
const Holder = Schema.fromJsonString(Schema.Struct({ pid: Schema.Int, started: Schema.String, space: Schema.String }))
type Holder = typeof Holder.Type

const encode = Schema.encodeSync(Holder)
const decode = Schema.decodeUnknownOption(Holder)

const lockOf = (home: string) => join(home, "agent-memory.lock")

const beatMilliseconds = 500
const silentMilliseconds = 3000

/**
 * Process ids mean nothing to another container or host on the same volume. There a running holder is known by touching
 * its lock file regularly.
 */
const beats = (file: string) => {
  const latest = () => fs.statSync(file, { throwIfNoEntry: false })?.mtimeMs
  const before = latest()
  return waitUntil(() => latest() !== before, silentMilliseconds)
}

const lives = (file: string, holder: Holder): Effect.Effect<boolean> =>
  holder.space === processSpace() ? Effect.sync(() => startOf(holder.pid) === holder.started) : beats(file)

/** The process that uses a data directory now, if any. */
export const findHolder = traced("EmbeddedPostgres.findHolder")(function* (home: string) {
  const file = lockOf(home)
  const holder = decode(read(file))
  return Option.isSome(holder) && (yield* lives(file, holder.value)) ? Option.some(holder.value.pid) : Option.none()
})

/** Writes a private draft of a file, puts it in its place with `place`, and removes it if that has not moved it. */
const withDraft = (file: string, text: string, place: (draft: string) => boolean): boolean => {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  try {
    fs.writeFileSync(draft, text, { mode: 0o600, flag: "wx", flush: true })
    return place(draft)
  } finally {
    fs.rmSync(draft, { force: true })
  }
}

/** Creates a private file with its content in one step, so that it is never read half written. Returns false if it exists. */
export const createWhole = (file: string, text: string): boolean =>
  withDraft(file, text, (draft) => {
    try {
      fs.linkSync(draft, file)
      return true
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false
      throw error
    }
  })

const replace = (file: string, text: string, dead: string | undefined): boolean =>
  withDraft(file, text, (draft) => {
    if (read(file) !== dead) return false
    fs.renameSync(draft, file)
    return true
  })

const take: (home: string, file: string, text: string) => Effect.Effect<void, EmbeddedPostgresError> =
  Effect.fnUntraced(function* (home, file, text) {
    if (yield* attempt(`create ${file}`, () => createWhole(file, text))) return
    const found = read(file)
    const holder = decode(found)
    if (Option.isSome(holder) && (yield* lives(file, holder.value))) {
      const { pid, space } = holder.value
      return yield* new EmbeddedPostgresError({
        reason: "Held",
        holder: pid,
        message:
          `Another Agent Memory, process ${pid}${space === processSpace() ? "" : " on another host or container"}, ` +
          `uses the data in ${home}. Stop it first, or set DATA_DIR to another folder; several instances share one ` +
          `database through DATABASE_URL.`
      })
    }
    const replaced = yield* attempt(`take over ${file}`, () => replace(file, text, found))
    // Of two processes that take over one dead holder's lock at once, the later one overwrites the earlier one's.
    if (replaced) yield* pause(50)
    if (read(file) !== text) yield* take(home, file, text)
  })

/** Locks a data directory for this process until the scope closes, or fails naming the process that has locked it. */
export const holdLock = traced("EmbeddedPostgres.holdLock")(function* (home: string) {
  const file = lockOf(home)
  const text = encode({ pid: process.pid, started: startOf(process.pid) ?? "", space: processSpace() })
  yield* Effect.acquireRelease(take(home, file, text), () =>
    Effect.sync(() => {
      if (read(file) === text) fs.rmSync(file, { force: true })
    })
  )
  const descriptor = yield* Effect.acquireRelease(
    attempt(`open ${file}`, () => fs.openSync(file, "r+")),
    (descriptor) => Effect.sync(() => fs.closeSync(descriptor))
  )
  yield* Effect.acquireRelease(
    Effect.sync(() => setInterval(() => fs.write(descriptor, text, 0, () => {}), beatMilliseconds).unref()),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
})
