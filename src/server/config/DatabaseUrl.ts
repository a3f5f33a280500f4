import type { Fault } from "./Setting.ts"
import { parametersFault } from "./UrlParameters.ts"

/** How a connection is protected, in libpq's words (PostgreSQL's documentation, section 34.19). */
const sslModes = ["disable", "prefer", "require", "verify-ca", "verify-full"] as const
export type SslMode = (typeof sslModes)[number]

const accepted = {
  sslmode: sslModes,
  sslrootcert: undefined,
  sslcert: undefined,
  sslkey: undefined,
  host: undefined,
  port: undefined,
  user: undefined,
  password: undefined,
  dbname: undefined,
  options: undefined
}

/** Why the parameters of a `DATABASE_URL` cannot be used. Other drivers' words for `sslmode` get theirs as the way out. */
export const databaseUrlFault = (url: URL): Fault | undefined => {
  const { searchParams } = url
  if (searchParams.has("ssl") || searchParams.has("tls")) {
    return {
      value: "given the parameter ssl, which is not PostgreSQL's",
      expected: "an address with sslmode=verify-full, or sslmode=require to encrypt without a check of the certificate"
    }
  }
  if (searchParams.has("sslcert") !== searchParams.has("sslkey")) {
    return { value: "given one of sslcert and sslkey", expected: "an address with both of them" }
  }
  return parametersFault(url, accepted)
}
