import type { Fault } from "./Setting.ts"

// After an unescaped question mark in a password, a part of the password is where a name is expected.
const isName = (text: string): boolean => /^[a-z_.]{1,40}$/i.test(text)

/**
 * Refuses a URL with an unknown or repeated parameter, or with a value that is not accepted: ignoring it would leave in force
 * what its author meant to change. `accepted` has the values of each name, or undefined for any.
 */
export const parametersFault = (
  { searchParams }: URL,
  accepted: Readonly<Record<string, ReadonlyArray<string> | undefined>>
): Fault | undefined => {
  const names = Object.keys(accepted)
  const expected = names.length === 0 ? "a URL without parameters" : `a URL with only ${names.join(", ")} as parameters`
  const seen = new Set<string>()
  for (const [name, value] of searchParams) {
    if (!names.includes(name)) {
      return { value: `given the unknown parameter ${isName(name) ? name : "(not shown)"}`, expected }
    }
    if (seen.has(name)) return { value: `given ${name} twice`, expected: `a URL with ${name} only once` }
    seen.add(name)
    const values = accepted[name]
    if (values !== undefined && !values.includes(value)) {
      return {
        value: `given an unknown ${name}`,
        expected: `a URL with one of ${values.map((value) => `${name}=${value}`).join(", ")}`
      }
    }
  }
  return undefined
}

/** How a connection is protected, in libpq's terms (PostgreSQL documentation, section 34.19). */
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

/** Why the parameters of a `DATABASE_URL` cannot be used. Other drivers' names for `sslmode` are answered with it. */
export const databaseUrlFault = (url: URL): Fault | undefined => {
  const { searchParams } = url
  if (searchParams.has("ssl") || searchParams.has("tls")) {
    return {
      value: "given the parameter ssl, which PostgreSQL does not have",
      expected: "a URL with sslmode=verify-full, or sslmode=require to encrypt without checking the certificate"
    }
  }
  if (searchParams.has("sslcert") !== searchParams.has("sslkey")) {
    return { value: "given only one of sslcert and sslkey", expected: "a URL with both of them" }
  }
  return parametersFault(url, accepted)
}
