import { PgConnection } from "@effect/sql-pg"
import { Data, Effect, Redacted } from "effect"
import type { SqlError } from "effect/sql"
import { readFileSync } from "node:fs"
import { getCACertificates, type ConnectionOptions } from "node:tls"
import { isLoopbackHost } from "../config/Settings.ts"
import type { SslMode } from "../config/UrlParameters.ts"
import { traced } from "../telemetry/Traced.ts"

/** A certificate or key file of `DATABASE_URL` cannot be read. */
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

/** Encrypts if the server can. It is asked once, so that nothing on the network can downgrade later connections. */
const preferred = Effect.fnUntraced(function* (url: Redacted.Redacted, ssl: ConnectionOptions) {
  return yield* PgConnection.make({ url, ssl, connectTimeout: "2 seconds" }).pipe(
    Effect.scoped,
    Effect.as<ConnectionOptions | false>(ssl),
    Effect.catchIf(isWithoutTls, () => Effect.succeed<ConnectionOptions | false>(false))
  )
})

/**
 * The TLS options for the server of a `DATABASE_URL`, by libpq's rules for `sslmode`. The default is `disable` for servers on
 * this machine and `prefer` for others. Certificate authorities are those of `sslrootcert`, or else those that Node.js trusts.
 */
export const tlsOf = traced("Database.tlsOf")(function* (address: Redacted.Redacted) {
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
