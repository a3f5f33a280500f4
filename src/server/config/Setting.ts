import { Config, Option, Redacted, Result } from "effect"

/** One variable that can't be used: what it holds (secrets are not shown) and what it may hold. */
export interface ConfigIssue {
  readonly variable: string
  readonly value: string
  readonly expected: string
}

/** What is wrong with a variable, which is named elsewhere. */
export type Fault = Omit<ConfigIssue, "variable">

export type Parsed<A> = Result.Result<A, ConfigIssue>

/** What an operator is told of a setting. Texts may hold code in backticks. */
export interface Description {
  /** What it is for, as a clause that goes on from its name. */
  readonly meaning: string
  /** What a number counts. */
  readonly unit?: "bytes" | "days" | "hours" | "minutes"
  /** The default in words, where it is not a value that could be written down. */
  readonly otherwise?: string
}

/** One environment variable: how it is read, and what an operator is told of it. */
export interface Setting<A> extends Description {
  readonly name: string
  readonly config: Config.Config<Parsed<A>>
  /** What a value must be, as a clause behind "expected". */
  readonly expected: string
  /** The value to write for what holds without one; empty where there is none. */
  readonly fallback: string
}

const secret = "(not shown)"

/** A variable that is set to nothing counts as unset, as compose files and CI leave it. */
export const setting = <A, B>(
  name: string,
  options: Description & {
    readonly parse: (text: string) => Option.Option<A>
    readonly expected: string
    readonly unset: B
    readonly secret?: boolean
    /** What is wrong with a value, where that can be said more exactly than by what is expected. */
    readonly faultOf?: (text: string) => Fault | undefined
  }
): Setting<A | B> => {
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

const wholeNumber = ([min, max]: readonly [min: number, max: number]) => ({
  parse: (text: string): Option.Option<number> => {
    const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
    return value >= min && value <= max ? Option.some(value) : Option.none()
  },
  expected: `a whole number from ${min} to ${max}`
})

/** A whole number within bounds. */
export const integer = (
  name: string,
  unset: number,
  bounds: readonly [min: number, max: number],
  description: Description
): Setting<number> => setting(name, { ...description, ...wholeNumber(bounds), unset })

/** A whole number within bounds, whose default follows from other settings. */
export const derivedInteger = (
  name: string,
  bounds: readonly [min: number, max: number],
  description: Description & { readonly otherwise: string }
): Setting<Option.Option<number>> => {
  const { expected, parse } = wholeNumber(bounds)
  return setting(name, {
    ...description,
    parse: (text) => Option.map(parse(text), Option.some),
    expected,
    unset: Option.none<number>()
  })
}

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

/** The address, if it has one of these protocols and a host. */
export const parseUrl = (text: string, protocols: ReadonlyArray<string>): Option.Option<URL> =>
  Option.filter(Option.fromNullOr(URL.parse(text)), (url) => protocols.includes(url.protocol) && url.host !== "")

/** An address that may hold a password. */
export const secretUrl = (
  name: string,
  protocols: ReadonlyArray<string>,
  options: Description & {
    readonly example: string
    readonly accepts?: (url: URL) => boolean
    /** What is wrong with an address that has a protocol of these; it must show no part that may be secret. */
    readonly faultOf: (url: URL) => Fault | undefined
  }
): Setting<Option.Option<Redacted.Redacted>> => {
  const { accepts = () => true, example, faultOf, ...description } = options
  return setting(name, {
    ...description,
    parse: (text) =>
      Option.map(Option.filter(parseUrl(text, protocols), accepts), () =>
        Option.some(Redacted.make(text, { label: name }))
      ),
    faultOf: (text) => Option.getOrUndefined(Option.map(parseUrl(text, protocols), faultOf)),
    expected: `an address like ${example}`,
    unset: Option.none<Redacted.Redacted>(),
    secret: true
  })
}
