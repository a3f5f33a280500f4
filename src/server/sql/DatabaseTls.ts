import { PgConnection } from "@effect/sql-pg"
import { Data, Effect, Redacted } from "effect"
import type { SqlError } from "effect/sql"
import { readFileSync } from "node:fs"
import { getCACertificates, type ConnectionOptions } from "node:tls"
import { isLoopbackHost } from "../Config.ts"
import type { SslMode } from "../config/DatabaseUrl.ts"

/** A file that `DATABASE_URL` names for TLS cannot be read. */
export class CertificateProblem extends Data.TaggedError("CertificateProblem")<{ readonly message: string }> {}

/** The server's host: a name, an address, or the folder of a socket. */
const hostOf = ({ hostname, searchParams }: URL): string => searchParams.get("host") ?? decodeURIComponent(hostname)

const read = (parameter: string, file: string) =>
  Effect.try({
    try: () => readFileSync(file, "utf8"),
    catch: (error) =>
      new CertificateProblem({
        message: `The ${parameter} of DATABASE_URL cannot be read: ${(error as Error).message}`
      })
  })

const authorities = Effect.fnUntraced(function* (file: string | null) {
  if (file === null) return {}
  return { ca: file === "system" ? getCACertificates("system") : yield* read("sslrootcert", file) }
})

const clientCertificate = Effect.fnUntraced(function* ({ searchParams }: URL) {
  const [cert, key] = [searchParams.get("sslcert"), searchParams.get("sslkey")]
  return cert === null || key === null ? {} : { cert: yield* read("sslcert", cert), key: yield* read("sslkey", key) }
})

const isWithoutTls = ({ reason }: SqlError.SqlError): boolean =>
  reason.cause instanceof Error && reason.cause.message === "The server does not support TLS"

/** Encrypts where the server can: asked once, so that later connections cannot be talked out of it. */
const preferred = Effect.fnUntraced(function* (url: Redacted.Redacted, ssl: ConnectionOptions) {
  return yield* PgConnection.make({ url, ssl, connectTimeout: "2 seconds" }).pipe(
    Effect.scoped,
    Effect.as<ConnectionOptions | false>(ssl),
    Effect.catchIf(isWithoutTls, () => Effect.succeed<ConnectionOptions | false>(false))
  )
})

/**
 * How connections to the server of a `DATABASE_URL` are protected, by libpq's rules for `sslmode`. Without it, connections
 * within this machine are not encrypted and others are `prefer`. Authorities are those of `sslrootcert`, or without it
 * those that Node.js trusts.
 */
export const tlsOf = Effect.fn("Database.tlsOf")(function* (address: Redacted.Redacted) {
  const url = new URL(Redacted.value(address))
  const { searchParams } = url
  const host = hostOf(url)
  if (host.startsWith("/")) return false
  const mode = (searchParams.get("sslmode") ?? (isLoopbackHost(host) ? "disable" : "prefer")) as SslMode
  if (mode === "disable") return false
  const rootFile = searchParams.get("sslrootcert")
  const own = yield* clientCertificate(url)
  const unchecked: ConnectionOptions = { ...own, rejectUnauthorized: false }
  if (mode === "prefer") return yield* preferred(address, unchecked)
  if (mode === "require" && rootFile === null) return unchecked
  const checked: ConnectionOptions = { ...own, ...(yield* authorities(rootFile)), rejectUnauthorized: true }
  return mode === "verify-full" ? checked : { ...checked, checkServerIdentity: () => undefined }
})
