import { Effect } from "effect"
import { lstatSync, mkdtempSync, realpathSync, rmdirSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { basename, dirname, join } from "node:path"
import { readForeign } from "./EmbeddedFiles.ts"
import type { Owner } from "./EmbeddedOwner.ts"
import { attempt } from "./EmbeddedPostgresError.ts"

/** Part of the socket's name only: no port is opened. */
export const port = 5432

/** The server's socket in its folder. */
export const socketIn = (folder: string): string => join(folder, `.s.PGSQL.${port}`)

/** A socket's whole path must fit into 103 bytes on macOS and 107 on Linux. */
const longestFolder = 75

/** The folder for what the database's user has to reach for a while. */
export const temporaryFolder = (owner: Owner): string => {
  const preferred = tmpdir()
  return preferred.length <= longestFolder && owner.reaches(preferred) ? preferred : "/tmp"
}

const folderName = "agent-memory-"
const isFolderName = (name: string): boolean =>
  name.startsWith(folderName) && /^[A-Za-z0-9]{6}$/.test(name.slice(folderName.length))

/** Where this process, and nobody else, notes the folder; PostgreSQL's own file can be written by whoever runs as its user. */
const noteOf = (home: string): string => join(home, "socket-folder")

/** A private folder for the server's socket, noted in the data directory: who can enter it can use the database. */
export const makeSocketFolder = (owner: Owner, home: string) =>
  attempt("create a folder for the database's socket", () => {
    const folder = mkdtempSync(join(realpathSync(temporaryFolder(owner)), folderName))
    owner.lend(folder)
    rmSync(noteOf(home), { force: true })
    writeFileSync(noteOf(home), folder, { mode: 0o600, flag: "wx" })
    return folder
  })

const isOwn = (path: string, home: string): boolean => {
  const uid = lstatSync(path, { throwIfNoEntry: false })?.uid
  return uid !== undefined && (uid === process.getuid?.() || uid === lstatSync(home).uid)
}

/** The socket's folder of the server that was started last on a data directory, if that noted one. */
export const notedSocketFolder = (home: string): string | undefined => {
  try {
    const note = noteOf(home)
    return isOwn(note, home) ? readForeign(note) : undefined
  } catch {
    return undefined
  }
}

/**
 * Removes a socket's folder that {@link makeSocketFolder} made: a real folder of this process's user, directly under the
 * temporary one, with what PostgreSQL left there. Anything else stays as it is.
 */
export const removeSocketFolder = (owner: Owner, folder: string) =>
  Effect.sync(() => {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    const isMade = isFolderName(basename(folder)) && dirname(folder) === realpathSync(temporaryFolder(owner))
    if (!isMade || found?.isDirectory() !== true || found.uid !== process.getuid?.()) return
    try {
      for (const file of [socketIn(folder), `${socketIn(folder)}.lock`]) rmSync(file, { force: true })
      rmdirSync(folder)
    } catch {
      // What somebody else put there is not this service's to remove.
    }
  })

/**
 * The settings that let nobody but root use a server that runs as another user, whatever database role is asked for: the
 * operating system tells PostgreSQL who connects. None where the server runs as this process's own user, who alone can
 * enter the socket's folder.
 */
export const accessSettings = (owner: Owner, home: string) =>
  attempt("write who may connect to the database", (): Readonly<Record<string, string>> => {
    if (owner.credentials.uid === undefined) return {}
    const files = { hba_file: join(home, "pg_hba.conf"), ident_file: join(home, "pg_ident.conf") }
    writeFileSync(files.hba_file, "local all all peer map=holder\n", { mode: 0o644 })
    writeFileSync(files.ident_file, `holder ${userInfo().username} all\n`, { mode: 0o644 })
    return files
  })
