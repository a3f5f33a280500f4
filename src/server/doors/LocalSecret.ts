import { Context, Data, Effect, Layer, Option, Redacted } from "effect"
import { SecureRandom } from "effect/crypto"
import { timingSafeEqual } from "effect/crypto/Mac"
import { Base64Url } from "effect/encoding"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { closeSync, constants, fstatSync, mkdirSync, openSync, readSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { Settings } from "../config/Settings.ts"
import { DataPlace } from "../sql/Database.ts"
import { createWhole } from "../sql/EmbeddedProcess.ts"
import { codeOf } from "../sql/SqlFailure.ts"
import { ownCookie, withOwnCookie } from "./OwnCookies.ts"
import { isDirectLocal } from "./CurrentRequest.ts"

/** The local secret cannot be read or stored; `message` names the file and the remedy. */
export class LocalSecretProblem extends Data.TaggedError("LocalSecretProblem")<{ readonly message: string }> {}

/** The file that stores the local secret. */
export const localSecretFile = (dataDir: string): string => join(resolve(dataDir), "local-secret")

const secretFormat = /^svc_local_[\w-]{43}$/
const longestFile = 128

const reasonOf = (error: unknown): string => codeOf(error) ?? String(error)

const problem = (message: string) => new LocalSecretProblem({ message })

const refuse = (file: string, why: string) =>
  problem(`The local secret in ${file} is not used: ${why}. Delete the file; the next start creates a new secret.`)

/** Why a file must not be used. On Windows Node reports neither owners nor modes. */
const faultOf = (descriptor: number): string | undefined => {
  const stats = fstatSync(descriptor)
  if (!stats.isFile()) return "it is not a regular file"
  const user = process.geteuid?.()
  if (user === undefined) return undefined
  if (stats.uid !== user) return `it belongs to another user (uid ${stats.uid}), who may know the secret`
  const mode = stats.mode & 0o777
  if ((mode & 0o077) === 0) return undefined
  return (
    `other users can read or change it (its mode is ${mode.toString(8)}, but must be 600). If the file system does not ` +
    "keep modes, set DATA_DIR to a folder that does"
  )
}

const read = (file: string): Option.Option<string> => {
  let descriptor: number
  try {
    // A link could lead to a file that another user chose, and opening a pipe would wait for its writer.
    descriptor = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (error) {
    const code = reasonOf(error)
    if (code === "ENOENT") return Option.none()
    if (code === "ELOOP") throw refuse(file, "it is a symbolic link")
    throw problem(
      `The local secret in ${file} cannot be read (${code}). Give the user that runs the service read access, or set DATA_DIR to that user's folder.`
    )
  }
  try {
    const fault = faultOf(descriptor)
    if (fault !== undefined) throw refuse(file, fault)
    const bytes = Buffer.alloc(longestFile)
    const text = bytes.toString("utf8", 0, readSync(descriptor, bytes, 0, longestFile, 0)).trim()
    if (!secretFormat.test(text)) throw refuse(file, "its content is not a secret")
    return Option.some(text)
  } finally {
    closeSync(descriptor)
  }
}

const create = (file: string, secret: string): void => {
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    createWhole(file, secret)
  } catch (error) {
    throw problem(
      `The local secret cannot be stored in ${file} (${reasonOf(error)}). Set DATA_DIR to a folder that this user can write to.`
    )
  }
}

const attempt = <A>(run: () => A): Effect.Effect<A, LocalSecretProblem> =>
  Effect.try({
    try: run,
    catch: (error) =>
      error instanceof LocalSecretProblem ? error : problem(`The local secret cannot be used: ${reasonOf(error)}`)
  })

/** The local secret of a `DATA_DIR`, if it has one. Changes nothing. */
export const findLocalSecret = (dataDir: string): Effect.Effect<Option.Option<string>, LocalSecretProblem> =>
  attempt(() => read(localSecretFile(dataDir)))

/** The local secret of a `DATA_DIR`, which becomes `fresh` if it has none. */
export const keepLocalSecret = (dataDir: string, fresh: string): Effect.Effect<string, LocalSecretProblem> =>
  attempt(() => {
    const file = localSecretFile(dataDir)
    const known = read(file)
    if (Option.isSome(known)) return known.value
    create(file, fresh)
    // Read back: another process may have won, and the file system may not keep modes.
    return Option.getOrThrowWith(read(file), () => problem(`The local secret in ${file} was removed at once.`))
  })

const utf8 = new TextEncoder()

const fresh = Effect.gen(function* () {
  const random = yield* SecureRandom.SecureRandom
  return `svc_local_${Base64Url.encode(yield* Effect.orDie(random.randomBytes(32)))}`
})

/**
 * The local secret of a service in local mode. It proves that the caller is the person who started the service. A loopback
 * address does not, because proxies, tunnels and other users of this machine have one, too.
 */
export class LocalSecret extends Context.Service<
  LocalSecret,
  {
    /** None if the service is not in local mode. */
    readonly value: Option.Option<Redacted.Redacted>
    /** Whether a text is the secret, compared in constant time. Always false without a secret. */
    readonly matches: (text: string | undefined) => boolean
  }
>()("agent-memory/server/doors/LocalSecret") {
  private static readonly layerOf = <E, R>(make: Effect.Effect<string, E, R>) =>
    Layer.effect(
      LocalSecret,
      Effect.gen(function* () {
        const { localMode } = yield* Settings
        if (!localMode) return LocalSecret.of({ value: Option.none(), matches: () => false })
        const secret = yield* make
        const expected = utf8.encode(secret)
        return LocalSecret.of({
          value: Option.some(Redacted.make(secret, { label: "local-secret" })),
          matches: (text) => text !== undefined && timingSafeEqual(expected, utf8.encode(text))
        })
      })
    )

  /** The secret in `DATA_DIR`, created by the first start with a usable database. */
  static readonly layer = LocalSecret.layerOf(
    Effect.gen(function* () {
      yield* DataPlace
      const { dataDir } = yield* Settings
      return yield* keepLocalSecret(dataDir, yield* fresh)
    })
  )

  /** A secret in memory only, for tests. */
  static readonly layerMemory = LocalSecret.layerOf(fresh)
}

// Browsers share the cookies of all ports of a host, but each service has its own secret.
const nameOf = ({ port }: Settings["Service"]): string => `agent_memory_local_${port}`

/**
 * Whether a request comes from the person who started a service in local mode, who may see its mails: it was sent to a loopback
 * host, with the local secret in the header `X-Local-Secret` or in the browser's cookie.
 */
export const isLocalUser = (
  request: HttpServerRequest.HttpServerRequest,
  settings: Settings["Service"],
  secret: LocalSecret["Service"]
): boolean =>
  settings.localMode &&
  isDirectLocal(request) &&
  (secret.matches(request.headers["x-local-secret"]) || secret.matches(ownCookie(request, nameOf(settings), settings)))

/** The response with the cookie that has the local secret. */
export const withLocalUser = (
  response: HttpServerResponse.HttpServerResponse,
  secret: string,
  settings: Settings["Service"]
): HttpServerResponse.HttpServerResponse =>
  withOwnCookie(response, { name: nameOf(settings), value: secret, maxAge: "30 days" }, settings)
