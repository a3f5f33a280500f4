import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { availableParallelism, cpus, totalmem } from "node:os"
import { delimiter, join } from "node:path"
import { Config, Effect, Option } from "effect"

const has = (file: string, ...argv: ReadonlyArray<string>) => spawnSync(file, argv, { stdio: "ignore" }).status === 0

const pins = availableParallelism() > 1 && has("taskset", "--version")

/**
 * How a Node process is started on a core of its own: what is measured on the first, the load on the second. PostgreSQL
 * goes where the system puts it. Machines without taskset, or with one core, pin nothing.
 */
export const pinned = (what: "measured" | "load"): { readonly file: string; readonly before: Array<string> } =>
  pins
    ? { file: "taskset", before: ["-c", what === "measured" ? "0" : "1", process.execPath] }
    : { file: process.execPath, before: [] }

/** A program of PostgreSQL's; undefined where there is none. */
export const postgresProgram = (name: string): string | undefined => {
  const path = Option.getOrElse(Effect.runSync(Config.option(Config.String("PATH"))), () => "")
  const folders = path.split(delimiter)
  for (let version = 20; version >= 15; version--) folders.push(`/usr/lib/postgresql/${version}/bin`)
  return folders.map((folder) => join(folder, name)).find((file) => existsSync(file))
}

/** The machine in words. */
export const machine = (): string => {
  const model = cpus()[0]?.model.trim() ?? "unknown"
  const memory = Math.round(totalmem() / 2 ** 30)
  return `${availableParallelism()} cores of ${model}, ${memory} GB, ${process.platform}, Node ${process.versions.node}${pins ? "" : ", not pinned"}`
}
