import { Effect } from "effect"
import { existsSync, mkdtempSync, readdirSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { readForeign } from "./EmbeddedFiles.ts"
import type { Owner } from "./EmbeddedOwner.ts"
import { attempt, EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import type { Programs } from "./EmbeddedPrograms.ts"
import { runProgram } from "./EmbeddedProcess.ts"

/** The role that owns everything in the embedded database. */
export const superuser = "postgres"

const clusterName = "postgres"
/** Where the cluster of a data directory is. */
export const clusterOf = (home: string): string => join(home, clusterName)

const unfinishedName = `${clusterName}.new-`

const removeUnfinished = (home: string) => {
  for (const name of readdirSync(home)) {
    if (name.startsWith(unfinishedName)) rmSync(join(home, name), { recursive: true, force: true })
  }
}

const initialise = Effect.fn("EmbeddedPostgres.initialise")(function* (
  programs: Programs,
  owner: Owner,
  home: string,
  durable: boolean
) {
  const unfinished = yield* attempt(`create a folder in ${home}`, () => {
    removeUnfinished(home)
    const folder = mkdtempSync(join(home, unfinishedName))
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
  // A process that dies before this line leaves a folder that the next start removes, never half a cluster.
  yield* attempt(`finish the cluster in ${home}`, () => renameSync(unfinished, clusterOf(home)))
})

const refuseOtherMajor = Effect.fnUntraced(function* (cluster: string, programs: Programs) {
  const version = yield* attempt(`read the version of ${cluster}`, () =>
    readForeign(join(cluster, "PG_VERSION")).trim()
  )
  if (version === String(programs.major)) return
  return yield* new EmbeddedPostgresError({
    reason: "OtherMajor",
    message:
      `The data in ${cluster} belongs to PostgreSQL ${version}, and this release runs PostgreSQL ${programs.major}, ` +
      `which cannot open it. Start the release that wrote it and export your data, then set DATA_DIR to an empty ` +
      `folder, start this release and import. Nothing was changed.`
  })
})

/** Gives the folder of the PostgreSQL cluster in a data directory, created the first time. */
export const openCluster = Effect.fn("EmbeddedPostgres.openCluster")(function* (
  programs: Programs,
  owner: Owner,
  home: string,
  durable: boolean
) {
  const cluster = clusterOf(home)
  if (existsSync(cluster)) yield* refuseOtherMajor(cluster, programs)
  else yield* initialise(programs, owner, home, durable)
  return cluster
})
