import { Effect } from "effect"
import * as fs from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { basename, dirname, join } from "node:path"
import { attempt, orUndefined } from "./EmbeddedProcess.ts"

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants

/**
 * Opens a file that another user can write, from a process that may be root: refuses symbolic links, hard links to other
 * files, and pipes, which would block the process.
 */
const withRegularFile = <A>(file: string, flags: number, use: (descriptor: number) => A): A => {
  const descriptor = fs.openSync(file, flags | O_NOFOLLOW | O_NONBLOCK)
  try {
    const found = fs.fstatSync(descriptor)
    if (!found.isFile() || found.nlink !== 1) throw new Error(`${file} is not a regular file with a single name`)
    return use(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}

/** Reads a file that another user can write. */
export const readForeign = (file: string): string =>
  withRegularFile(file, O_RDONLY, (descriptor) => fs.readFileSync(descriptor, "utf8"))

/** Changes the text of a file that another user can write. A process that is killed meanwhile doesn't leave it empty. */
export const changeForeign = (file: string, change: (text: string) => string): void =>
  withRegularFile(file, O_RDWR, (descriptor) => {
    const text = change(fs.readFileSync(descriptor, "utf8"))
    fs.ftruncateSync(descriptor, fs.writeSync(descriptor, text, 0))
  })

/** The system user that the database runs as under root, if it exists. */
export const userName = "agent-memory"

const nobody = 65534

interface User {
  readonly uid: number
  readonly gid: number
}

const systemUser = (): User | undefined => {
  const [, uid = "", gid = ""] =
    new RegExp(`^${userName}:[^:]*:(\\d+):(\\d+):`, "m").exec(
      orUndefined(() => fs.readFileSync("/etc/passwd", "utf8")) ?? ""
    ) ?? []
  return Number(uid) > 0 ? { uid: Number(uid), gid: Number(gid) } : undefined
}

const reachesAs = (path: string, user: User): boolean => {
  for (let folder = fs.realpathSync(path); ; folder = dirname(folder)) {
    const { gid, mode, uid } = fs.statSync(folder)
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
    if ((mode & bit) === 0) return false
    if (folder === dirname(folder)) return true
  }
}

const makeOwner = (user: User | undefined) => ({
  /** Options for `spawn`; empty when the programs run as this process's own user. */
  credentials: user === undefined ? {} : { uid: user.uid, gid: user.gid },
  isSelf: user === undefined,
  /** The user is `nobody`, whom other programs may run as, too. */
  isShared: user?.uid === nobody,
  /** Whether the owner can enter a path and every folder above it. */
  reaches: (path: string): boolean => user === undefined || reachesAs(path, user),
  /** Hands a file or folder to the owner. */
  take: (path: string): void => {
    if (user !== undefined) fs.chownSync(path, user.uid, user.gid)
  },
  /** Lets the owner write into a folder that this process still owns, so that no other user can replace it. */
  lend: (folder: string): void => {
    if (user === undefined) return
    fs.chownSync(folder, 0, user.gid)
    fs.chmodSync(folder, 0o770)
  }
})

/** The user that the database's programs run as. */
export type Owner = ReturnType<typeof makeOwner>

/**
 * PostgreSQL refuses to run as root. Under root its programs run as the cluster's owner; for a new cluster, as the system
 * user `agent-memory` if it exists, and as `nobody` otherwise.
 */
export const currentOwner = (cluster?: string): Owner => {
  if (process.getuid?.() !== 0) return makeOwner(undefined)
  const existing = cluster === undefined ? undefined : fs.lstatSync(cluster, { throwIfNoEntry: false })
  if (existing !== undefined && existing.uid !== 0) return makeOwner(existing)
  return makeOwner(systemUser() ?? { uid: nobody, gid: nobody })
}

/** Lets the owner pass through a folder of this service, without letting other users list it. */
export const letThrough = (owner: Owner, folder: string) =>
  owner.isSelf
    ? Effect.void
    : attempt(`change the mode of ${folder}`, () => fs.chmodSync(folder, fs.statSync(folder).mode | 0o011))

/** Part of the socket's name only: no port is opened. */
export const port = 5432

/** The server's socket in its folder. */
export const socketIn = (folder: string): string => join(folder, `.s.PGSQL.${port}`)

/** In characters: a socket's whole path must fit into 103 bytes on macOS and 107 on Linux. */
const longestFolder = 75

/** The folder for temporary files that the database's user must reach. */
export const temporaryFolder = (owner: Owner): string => {
  const preferred = tmpdir()
  return preferred.length <= longestFolder && owner.reaches(preferred) ? preferred : "/tmp"
}

const folderName = "agent-memory-"

/** Only this process's user can write this note; PostgreSQL's own file can be written by every process of its user. */
const noteOf = (home: string): string => join(home, "socket-folder")

/** Creates a private folder for the server's socket and notes it in the data directory. Access to it is access to the database. */
export const makeSocketFolder = (owner: Owner, home: string) =>
  attempt("create a folder for the database's socket", () => {
    const folder = fs.mkdtempSync(join(fs.realpathSync(temporaryFolder(owner)), folderName))
    owner.lend(folder)
    fs.rmSync(noteOf(home), { force: true })
    fs.writeFileSync(noteOf(home), folder, { mode: 0o600, flag: "wx" })
    return folder
  })

/** The socket folder that the last server on a data directory noted, if any. */
export const notedSocketFolder = (home: string): string | undefined =>
  orUndefined(() => {
    const note = noteOf(home)
    const { uid } = fs.lstatSync(note)
    return uid === process.getuid?.() || uid === fs.lstatSync(home).uid ? readForeign(note) : undefined
  })

/**
 * Removes a folder that {@link makeSocketFolder} made, with what PostgreSQL left in it. A path that is not a real folder of
 * this process's user, directly under the temporary folder and with the expected name, is left alone.
 */
export const removeSocketFolder = (owner: Owner, folder: string) =>
  Effect.sync(() => {
    const found = fs.lstatSync(folder, { throwIfNoEntry: false })
    const isMade =
      new RegExp(`^${folderName}[A-Za-z0-9]{6}$`).test(basename(folder)) &&
      dirname(folder) === fs.realpathSync(temporaryFolder(owner))
    if (!isMade || found?.isDirectory() !== true || found.uid !== process.getuid?.()) return
    try {
      for (const file of [socketIn(folder), `${socketIn(folder)}.lock`]) fs.rmSync(file, { force: true })
      fs.rmdirSync(folder)
    } catch {
      // Another program's files in the folder are not this service's to remove.
    }
  })

/**
 * Settings by which a server that root runs as another user accepts connections from root alone, for any database role
 * (peer authentication). None where the server runs as this process's own user: only that user can enter the socket's folder.
 */
export const accessSettings = (owner: Owner, home: string) =>
  attempt("write the database's access rules", (): Readonly<Record<string, string>> => {
    if (owner.isSelf) return {}
    const files = { hba_file: join(home, "pg_hba.conf"), ident_file: join(home, "pg_ident.conf") }
    fs.writeFileSync(files.hba_file, "local all all peer map=holder\n", { mode: 0o644 })
    fs.writeFileSync(files.ident_file, `holder ${userInfo().username} all\n`, { mode: 0o644 })
    return files
  })
