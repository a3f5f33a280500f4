import { Data, Effect, Option } from "effect"
import { randomBytes } from "node:crypto"
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { dirname, join, resolve } from "node:path"

/** The start secret can't be read or kept; the message says which file it is and what to do. */
export class LocalSecretProblem extends Data.TaggedError("LocalSecretProblem")<{ readonly message: string }> {}

/** Where the start secret is kept. */
export const localSecretFile = (dataDir: string): string => join(resolve(dataDir), "local-secret")

const secretFormat = /^svc_local_[\w-]{43}$/
const longestFile = 128

const codeOf = (error: unknown): string =>
  error instanceof Error && "code" in error ? String(error.code) : String(error)

const problem = (message: string) => new LocalSecretProblem({ message })

const refuse = (file: string, why: string) =>
  problem(`The start secret in ${file} is not used: ${why}. Delete the file; the next start makes a new secret.`)

/** What keeps a file from being used. Windows has neither owners nor modes that Node could tell. */
const faultOf = (descriptor: number): string | undefined => {
  const stats = fstatSync(descriptor)
  if (!stats.isFile()) return "it is not a regular file"
  const user = process.geteuid?.()
  if (user === undefined) return undefined
  if (stats.uid !== user) return `it belongs to another user (uid ${stats.uid}), who may know it`
  const mode = stats.mode & 0o777
  if ((mode & 0o077) === 0) return undefined
  return (
    `other users may read or change it (its mode is ${mode.toString(8)}, and has to be 600). Where that is so of every ` +
    "file, set DATA_DIR to a folder that keeps modes"
  )
}

const readOpen = (file: string, descriptor: number): string => {
  const fault = faultOf(descriptor)
  if (fault !== undefined) throw refuse(file, fault)
  const bytes = Buffer.alloc(longestFile)
  const text = bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, longestFile, 0)).trim()
  if (!secretFormat.test(text)) throw refuse(file, "it holds something else")
  return text
}

const read = (file: string): Option.Option<string> => {
  let descriptor: number
  try {
    // A link could lead to a file of somebody else's choice, and opening a pipe would wait for its writer.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = codeOf(error)
    if (code === "ENOENT") return Option.none()
    if (code === "ELOOP") throw refuse(file, "it is a symbolic link")
    throw problem(
      `The start secret in ${file} cannot be read (${code}). Let the user that runs the service read it, or set DATA_DIR to a folder of that user.`
    )
  }
  try {
    return Option.some(readOpen(file, descriptor))
  } finally {
    closeSync(descriptor)
  }
}

/** Creates the file with its content in one step: of several processes one wins, and nobody reads half of it. */
const create = (file: string, secret: string): void => {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    try {
      writeFileSync(draft, secret, { mode: 0o600, flag: "wx", flush: true })
      linkSync(draft, file)
    } finally {
      rmSync(draft, { force: true })
    }
  } catch (error) {
    const code = codeOf(error)
    if (code === "EEXIST") return
    throw problem(
      `The start secret cannot be kept in ${file} (${code}). Set DATA_DIR to a folder that this user may write.`
    )
  }
}

const attempt = <A>(run: () => A): Effect.Effect<A, LocalSecretProblem> =>
  Effect.try({
    try: run,
    catch: (error) =>
      error instanceof LocalSecretProblem ? error : problem(`The start secret fails: ${codeOf(error)}`)
  })

/** The start secret that a `DATA_DIR` holds, if it does. Changes nothing. */
export const findLocalSecret = (dataDir: string): Effect.Effect<Option.Option<string>, LocalSecretProblem> =>
  attempt(() => read(localSecretFile(dataDir)))

/** The start secret that a `DATA_DIR` holds; where there is none, `fresh` becomes it. */
export const keepLocalSecret = (dataDir: string, fresh: string): Effect.Effect<string, LocalSecretProblem> =>
  attempt(() => {
    const file = localSecretFile(dataDir)
    const known = read(file)
    if (Option.isSome(known)) return known.value
    create(file, fresh)
    // Read back, as it may be another process's, or lie where modes are not kept.
    return Option.getOrThrowWith(read(file), () => problem(`The start secret in ${file} was removed at once.`))
  })
