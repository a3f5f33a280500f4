import { Effect } from "effect"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { readFileSync, readlinkSync, statSync } from "node:fs"
import { hostname } from "node:os"
import { setTimeout } from "node:timers/promises"
import type { Owner } from "./EmbeddedOwner.ts"
import { attempt, EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"

/** Waits in real time whatever Clock is given, because other processes keep real time. */
export const pause = (milliseconds: number) =>
  Effect.promise((signal) => setTimeout(milliseconds, undefined, { signal }))

/** Looks until `ready` gives true, at most for the given time; the answer is whether it did. */
export const waitUntil = Effect.fnUntraced(function* (ready: () => boolean, milliseconds: number, interval = 10) {
  for (let waited = 0; !ready(); waited += interval) {
    if (waited >= milliseconds) return false
    yield* pause(interval)
  }
  return true
})

const readText = (read: () => string): string | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/** Whether the operating system still knows the process, ended and unreaped ones included. */
export const signalable = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}

const processTable = (pid: number, column: string): string | undefined =>
  spawnSync("ps", ["-o", `${column}=`, "-p", String(pid)], { encoding: "utf8" }).stdout?.trim() || undefined

/**
 * When a process started, in the operating system's own words, or undefined if it does not run. A process id alone is
 * handed out again after a while; together with its start it is not.
 */
export const startOf = (pid: number): string | undefined => {
  if (!signalable(pid)) return undefined
  if (process.platform !== "linux") return processTable(pid, "lstart") ?? "unknown"
  const stat = readText(() => readFileSync(`/proc/${pid}/stat`, "utf8"))
  // The program's name, in parentheses, may hold spaces, so fields count from behind it.
  const fields = stat?.slice(stat.lastIndexOf(")") + 2).split(" ")
  const state = fields?.[0]
  return state === undefined || state === "Z" || state === "X" ? undefined : fields?.[19]
}

export const runs = (pid: number): boolean =>
  process.platform === "linux" ? startOf(pid) !== undefined : signalable(pid)

/** Names the set of processes among which a process id means something: containers that share a volume differ in it. */
export const processSpace = (): string =>
  [
    hostname(),
    readText(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
    readText(() => readlinkSync("/proc/self/ns/pid"))
  ].join(" ")

/** Whether the owner's process is a PostgreSQL server on this cluster: its working directory is the cluster's. */
export const servesCluster = (pid: number, cluster: string, { credentials }: Owner): boolean => {
  if (!runs(pid)) return false
  if (process.platform === "linux") {
    const user = statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid
    if (user !== (credentials.uid ?? process.getuid?.())) return false
    return readText(() => readlinkSync(`/proc/${pid}/cwd`)) === cluster
  }
  return processTable(pid, "command")?.includes(cluster) ?? false
}

/** Settings in the caller's environment (PGDATA, PGPORT, LC_ALL and more) must not reach the programs. */
const environment = { LC_ALL: "C", TZ: "UTC" }

/** Starts a program that outlives an interrupt of this process's group, writing to the open file. */
export const spawnServer = (program: string, args: ReadonlyArray<string>, owner: Owner, output: number) =>
  attempt(`start ${program}`, (): ChildProcess => {
    const child = spawn(program, args, {
      cwd: "/",
      env: environment,
      detached: true,
      stdio: ["ignore", output, output],
      ...owner.credentials
    })
    // Without a listener a missing program would end this process; readiness notices it by the absent pid.
    child.on("error", () => {})
    child.unref()
    return child
  })

/** Runs a program to its end and gives what it printed; an exit code other than 0 fails with it. */
export const runProgram = (program: string, args: ReadonlyArray<string>, owner: Owner) =>
  Effect.callback<string, EmbeddedPostgresError>((resume) => {
    const child = spawn(program, args, {
      cwd: "/",
      env: environment,
      stdio: ["ignore", "pipe", "pipe"],
      ...owner.credentials
    })
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
    const fail = (why: string) =>
      resume(
        Effect.fail(new EmbeddedPostgresError({ reason: "Failed", message: `Could not run ${program}: ${why}`.trim() }))
      )
    child.on("error", (error) => fail(error.message))
    child.on("close", (code) => (code === 0 ? resume(Effect.succeed(printed)) : fail(printed.slice(-2000))))
    return Effect.sync(() => child.kill("SIGKILL"))
  })
