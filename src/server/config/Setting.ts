import { Config, Option, Redacted, Result } from "effect"
import type { Measure } from "../../domain/Amounts.ts"

/** An invalid setting: its value (secrets are not shown) and what is accepted. */
export interface ConfigIssue {
  readonly variable: string
  readonly value: string
  readonly expected: string
}

type Fault = Omit<ConfigIssue, "variable">

export type Parsed<A> = Result.Result<A, ConfigIssue>

/** How a setting is described to operators. Code in texts is in backticks. */
export interface Description {
  /** What it is for, in sentences. */
  readonly meaning: string
  readonly measure?: Measure
  /** The default in words, if it is not a plain value. */
  readonly otherwise?: string
}

/** One environment variable: how it is read and described. */
export interface Setting<A> extends Description {
  readonly name: string
  readonly config: Config.Config<Parsed<A>>
  /** The accepted values, in words that follow "expected". */
  readonly expected: string
  /** The default as it would be written in the environment; empty if there is none. */
  readonly fallback: string
}

const secret = "(not shown)"

interface Reading<A> extends Description {
  readonly parse: (text: string) => Option.Option<A>
  readonly expected: string
  readonly secret?: boolean
  /** What is wrong with a value, if that can be said more exactly than by what is expected. */
  readonly faultOf?: (text: string) => Fault | undefined
}

/** An empty variable counts as not set, since compose files and CI leave unused ones empty. */
export const setting = <A, B>(name: string, options: Reading<A> & { readonly unset: B }): Setting<A | B> => {
  const { expected, parse, faultOf, secret: isSecret = false, unset, ...description } = options
  const config = Config.map(Config.option(Config.String(name)), (found): Parsed<A | B> => {
    const text = Option.getOrElse(found, () => "").trim()
    if (text === "") return Result.succeed(unset)
    const fault = faultOf?.(text)
    if (fault !== undefined) return Result.fail({ variable: name, ...fault })
    return Result.fromOption(parse(text), () => ({
      variable: name,
      value: isSecret ? secret : JSON.stringify(text),
      expected
    }))
  })
  const fallback = typeof unset === "string" || typeof unset === "number" ? String(unset) : ""
  return { ...description, name, config, expected, fallback }
}

/** A setting that may be missing. */
export const optional = <A>(name: string, options: Reading<A>): Setting<Option.Option<A>> =>
  setting(name, {
    ...options,
    parse: (text) => Option.map(options.parse(text), Option.some),
    unset: Option.none<A>()
  })

/** A whole number within bounds. Where the default is undefined, it follows from other settings, as `otherwise` says. */
export const integer = <const Unset extends number | undefined>(
  name: string,
  unset: Unset,
  [least, most]: readonly [least: number, most: number],
  description: Description
): Setting<number | Unset> =>
  setting(name, {
    ...description,
    parse: (text) => {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      return value >= least && value <= most ? Option.some(value) : Option.none()
    },
    expected: `a whole number from ${least} to ${most}`,
    unset
  })

/** One of a few words. */
export const choice = <const A extends string, const B>(
  name: string,
  values: ReadonlyArray<A>,
  unset: B,
  description: Description
): Setting<A | B> =>
  setting(name, {
    ...description,
    parse: (text) => Option.fromUndefinedOr(values.find((value) => value === text.toLowerCase())),
    expected: `one of ${values.join(", ")}`,
    unset
  })

/** Several values, separated by commas. */
export const list = <A>(
  name: string,
  parse: (text: string) => Option.Option<A>,
  options: Description & { readonly expected: string }
): Setting<ReadonlyArray<A>> =>
  setting(name, {
    ...options,
    parse: (text) => Option.all(text.split(",").map((item) => parse(item.trim()))),
    unset: []
  })

/** The URL, if it has one of these protocols and a host. */
export const parseUrl = (text: string, protocols: ReadonlyArray<string>): Option.Option<URL> =>
  Option.filter(Option.fromNullOr(URL.parse(text)), (url) => protocols.includes(url.protocol) && url.host !== "")

/** A URL that can contain a password. */
export const secretUrl = (
  name: string,
  protocols: ReadonlyArray<string>,
  options: Description & {
    readonly example: string
    readonly accepts?: (url: URL) => boolean
    /** What is wrong with a URL of one of these protocols; it must not show any part that may be secret. */
    readonly faultOf: (url: URL) => Fault | undefined
  }
): Setting<Option.Option<Redacted.Redacted>> => {
  const { accepts = () => true, example, faultOf, ...description } = options
  return optional(name, {
    ...description,
    parse: (text) =>
      Option.map(Option.filter(parseUrl(text, protocols), accepts), () => Redacted.make(text, { label: name })),
    faultOf: (text) => Option.getOrUndefined(Option.map(parseUrl(text, protocols), faultOf)),
    expected: `a URL like ${example}`,
    secret: true
  })
}

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
