import { chmodSync, chownSync, realpathSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { Effect } from "effect"
import { attempt } from "./EmbeddedPostgresError.ts"

/** The user that the database's programs run as. */
export interface Owner {
  /** Options for `spawn`; empty when the programs run as this process's own user. */
  readonly credentials: { readonly uid?: number; readonly gid?: number }
  /** Whether the owner can reach a path, that is, pass through every folder above it and into it. */
  readonly reaches: (path: string) => boolean
  /** Hands a file or folder to the owner. */
  readonly take: (path: string) => void
}

const nobody = 65534

const mayEnter = (folder: string): boolean => {
  const { gid, mode, uid } = statSync(folder)
  const bit = uid === nobody ? 0o100 : gid === nobody ? 0o010 : 0o001
  return (mode & bit) !== 0
}

const reachesAsNobody = (path: string): boolean => {
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    if (!mayEnter(folder)) return false
    if (folder === dirname(folder)) return true
  }
}

const self: Owner = { credentials: {}, reaches: () => true, take: () => {} }

const unprivileged: Owner = {
  credentials: { uid: nobody, gid: nobody },
  reaches: reachesAsNobody,
  take: (path) => chownSync(path, nobody, nobody)
}

/** PostgreSQL refuses to run as root; under root its programs run as the user without rights. */
export const currentOwner = (): Owner => (process.getuid?.() === 0 ? unprivileged : self)

/** Lets the owner pass through a folder that this service made or was given, without letting anybody list it. */
export const letThrough = (owner: Owner, folder: string) =>
  owner === self
    ? Effect.void
    : attempt(`change the mode of ${folder}`, () => chmodSync(folder, statSync(folder).mode | 0o011))
