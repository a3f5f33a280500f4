import { chmodSync, chownSync, lstatSync, readFileSync, realpathSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { Effect } from "effect"
import { attempt } from "./EmbeddedPostgresError.ts"

/** The user that the database's programs run as. */
export interface Owner {
  /** Options for `spawn`; empty when the programs run as this process's own user. */
  readonly credentials: { readonly uid?: number; readonly gid?: number }
  /** The user is everybody's who has none of his own, so that other programs may run as him, too. */
  readonly isShared: boolean
  /** Whether the owner can reach a path, that is, pass through every folder above it and into it. */
  readonly reaches: (path: string) => boolean
  /** Hands a file or folder to the owner. */
  readonly take: (path: string) => void
  /** Lets the owner write into a folder that stays this process's, so that nobody else can put another in its place. */
  readonly lend: (folder: string) => void
}

/** The system user that the database runs as under root, where there is one of this name. */
export const userName = "agent-memory"

const nobody = 65534

interface User {
  readonly uid: number
  readonly gid: number
}

const ownUser = (): User | undefined => {
  try {
    const line = readFileSync("/etc/passwd", "utf8")
      .split("\n")
      .find((entry) => entry.startsWith(`${userName}:`))
    const [uid, gid] = (line ?? "").split(":").slice(2, 4).map(Number)
    return uid !== undefined && gid !== undefined && uid > 0 ? { uid, gid } : undefined
  } catch {
    return undefined
  }
}

const userOf = (cluster: string): User | undefined => {
  const found = lstatSync(cluster, { throwIfNoEntry: false })
  return found === undefined || found.uid === 0 ? undefined : found
}

const mayEnter = (folder: string, user: User): boolean => {
  const { gid, mode, uid } = statSync(folder)
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001
  return (mode & bit) !== 0
}

const reachesAs = (path: string, user: User): boolean => {
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    if (!mayEnter(folder, user)) return false
    if (folder === dirname(folder)) return true
  }
}

const self: Owner = { credentials: {}, isShared: false, reaches: () => true, take: () => {}, lend: () => {} }

const unprivileged = ({ gid, uid }: User): Owner => ({
  credentials: { uid, gid },
  isShared: uid === nobody,
  reaches: (path) => reachesAs(path, { uid, gid }),
  take: (path) => chownSync(path, uid, gid),
  lend: (folder) => {
    chownSync(folder, 0, gid)
    chmodSync(folder, 0o770)
  }
})

/**
 * PostgreSQL refuses to run as root; under root its programs run as the user who owns the cluster, or for a new one as the
 * system user `agent-memory`, or without one as the user without rights.
 */
export const currentOwner = (cluster?: string): Owner => {
  if (process.getuid?.() !== 0) return self
  const existing = cluster === undefined ? undefined : userOf(cluster)
  return unprivileged(existing ?? ownUser() ?? { uid: nobody, gid: nobody })
}

/** Lets the owner pass through a folder that this service made or was given, without letting anybody list it. */
export const letThrough = (owner: Owner, folder: string) =>
  owner === self
    ? Effect.void
    : attempt(`change the mode of ${folder}`, () => chmodSync(folder, statSync(folder).mode | 0o011))
