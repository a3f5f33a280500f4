import { Effect } from "effect"
import { existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, symlinkSync } from "node:fs"
import { join, resolve } from "node:path"
import { letThrough, type Owner } from "./EmbeddedOwner.ts"
import { attempt, EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { sharedFolder } from "./EmbeddedPrograms.ts"

/** The link in a DATA_DIR whose files had to go elsewhere. */
const elsewhere = "moved-to"

const makeElsewhere = (dataDir: string): string => {
  mkdirSync(sharedFolder, { recursive: true, mode: 0o755 })
  const home = mkdtempSync(join(sharedFolder, "data-"))
  symlinkSync(home, join(dataDir, elsewhere))
  return home
}

const isLink = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * The folder that holds a DATA_DIR's files: itself, or, when the database's user cannot reach it (a checkout in root's
 * closed home), the folder that its `moved-to` link names.
 */
export const homeOf = Effect.fnUntraced(function* (dataDir: string) {
  const wanted = resolve(dataDir)
  const link = join(wanted, elsewhere)
  return yield* attempt(`find the files of ${wanted}`, () => (isLink(link) ? realpathSync(link) : wanted))
})

/** Makes sure that the folder of `homeOf` is there and within the owner's reach. */
export const makeHome = Effect.fn("EmbeddedPostgres.makeHome")(function* (dataDir: string, owner: Owner) {
  const wanted = resolve(dataDir)
  yield* attempt(`create ${wanted}`, () => mkdirSync(wanted, { recursive: true, mode: 0o700 }))
  const existing = yield* homeOf(dataDir)
  const home = yield* attempt(`find ${existing}`, () => realpathSync(existing))
  yield* letThrough(owner, home)
  if (yield* attempt(`look at ${home}`, () => owner.reaches(home))) return home
  if (home !== realpathSync(wanted) || existsSync(join(home, "postgres"))) {
    return yield* new EmbeddedPostgresError({
      reason: "Unreachable",
      message:
        `The embedded database runs as an unprivileged user, who cannot reach ${home}. Open the folders above it to ` +
        `passing through (chmod o+x), or set DATA_DIR to another place, or set DATABASE_URL to a PostgreSQL server.`
    })
  }
  const moved = yield* attempt(`put the database into ${sharedFolder}`, () => makeElsewhere(wanted))
  yield* letThrough(owner, moved)
  yield* Effect.logWarning(
    `The embedded database's unprivileged user cannot reach ${wanted}, so its files are in ${moved} (linked from ` +
      `${join(wanted, elsewhere)}). Set DATA_DIR to a folder outside of a closed home to choose the place.`
  )
  return moved
})
