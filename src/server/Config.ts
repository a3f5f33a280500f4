import { Config, Context, Data, Effect, Layer, Option, Redacted, Result, type LogLevel } from "effect"
import type { Limits } from "../domain/Limits.ts"
import { parseNetwork, type Network } from "./http/ClientIp.ts"

/** One variable that can't be used: what it holds (secrets are not shown) and what it may hold. */
export interface ConfigIssue {
  readonly variable: string
  readonly value: string
  readonly expected: string
}

/** The settings can't be used. The message names every wrong variable at once, a line each. */
export class ConfigProblem extends Data.TaggedError("ConfigProblem")<{ readonly issues: ReadonlyArray<ConfigIssue> }> {
  override get message(): string {
    const lines = this.issues.map(({ variable, value, expected }) => `  ${variable} is ${value}: expected ${expected}`)
    return ["The settings cannot be used:", ...lines].join("\n")
  }
}

/** Every limit, the specification's values by default. Bytes are of UTF-8; rates are per minute and key, or per hour. */
export interface ServiceLimits extends Limits {
  readonly writesPerMinute: number
  readonly readsPerMinute: number
  readonly activeKeys: number
  readonly magicLinksPerEmailPerHour: number
  readonly magicLinksPerIpPerHour: number
  readonly verifiesPerIpPerHour: number
  readonly requestBytes: number
  readonly authRequestBytes: number
  readonly importRequestBytes: number
  readonly magicLinkMinutes: number
  readonly linkMinutes: number
}

type Parsed<A> = Result.Result<A, ConfigIssue>
type Variable<A> = Config.Config<Parsed<A>>

const secret = "(not shown)"

/** A variable that is set to nothing counts as unset, as compose files and CI leave it. */
const variable = <A, B>(
  name: string,
  options: {
    readonly parse: (text: string) => Option.Option<A>
    readonly expected: string
    readonly unset: B
    readonly secret?: boolean
  }
): Variable<A | B> =>
  Config.map(Config.option(Config.String(name)), (found): Parsed<A | B> => {
    const text = Option.getOrElse(found, () => "").trim()
    if (text === "") return Result.succeed(options.unset)
    return Result.fromOption(options.parse(text), () => ({
      variable: name,
      value: options.secret === true ? secret : JSON.stringify(text),
      expected: options.expected
    }))
  })

const integer = (name: string, unset: number, min: number, max: number): Variable<number> =>
  variable(name, {
    parse: (text) => {
      const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? Option.some(value) : Option.none()
    },
    expected: `a whole number from ${min} to ${max}`,
    unset
  })

const choice = <const A extends string, const B>(name: string, values: ReadonlyArray<A>, unset: B): Variable<A | B> =>
  variable(name, {
    parse: (text) => Option.fromUndefinedOr(values.find((value) => value === text.toLowerCase())),
    expected: `one of ${values.join(", ")}`,
    unset
  })

const parseUrl = (text: string, protocols: ReadonlyArray<string>): Option.Option<URL> =>
  Option.filter(Option.fromNullOr(URL.parse(text)), (url) => protocols.includes(url.protocol) && url.host !== "")

const secretUrl = (
  name: string,
  protocols: ReadonlyArray<string>,
  example: string,
  accepts: (url: URL) => boolean = () => true
) =>
  variable(name, {
    parse: (text) =>
      Option.map(Option.filter(parseUrl(text, protocols), accepts), () =>
        Option.some(Redacted.make(text, { label: name }))
      ),
    expected: `an address like ${example}`,
    unset: Option.none<Redacted.Redacted>(),
    secret: true
  })

const isPercentEncoding = (text: string): boolean => /^(?:[^%]|%[0-9a-f]{2})*$/i.test(text)

/** The path is the number of a database, if there is one. */
const isRedisUrl = ({ password, pathname, username }: URL): boolean =>
  /^\/?\d{0,5}$/.test(pathname) && isPercentEncoding(username) && isPercentEncoding(password)

const parseOrigin = (text: string): Option.Option<string> =>
  parseUrl(text, ["http:", "https:"]).pipe(
    Option.filter((url) => `${url.origin}/` === url.href),
    Option.map((url) => url.origin)
  )

const list = <A>(name: string, parse: (text: string) => Option.Option<A>, expected: string) =>
  variable(name, {
    parse: (text) => Option.all(text.split(",").map((item) => parse(item.trim()))),
    expected,
    unset: [] as ReadonlyArray<A>
  })

const mib = 1024 * 1024
const maxCount = 1_000_000_000
const maxBytes = 1024 * 1024 * mib

const logLevels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
} as const satisfies Record<string, LogLevel.LogLevel>

const isHost = (text: string): boolean => /^[A-Za-z0-9.:_-]+$/.test(text)
const fromAddress = /^(?:[^<>\r\n"]*<[^\s<>@"]+@[^\s<>@"]+>|[^\s<>@"]+@[^\s<>@"]+)$/

const limits = {
  tables: integer("LIMIT_TABLES", 20, 1, maxCount),
  rowsPerTable: integer("LIMIT_ROWS_PER_TABLE", 1000, 1, maxCount),
  storageBytes: integer("LIMIT_STORAGE_BYTES", 25 * mib, 1, maxBytes),
  rowBytes: integer("LIMIT_ROW_BYTES", 65_536, 2, 64 * mib),
  batchOperations: integer("LIMIT_BATCH_OPERATIONS", 100, 1, 10_000),
  writesPerMinute: integer("LIMIT_WRITES_PER_MINUTE", 30, 1, 1_000_000),
  readsPerMinute: integer("LIMIT_READS_PER_MINUTE", 60, 1, 1_000_000),
  versionsPerRow: integer("LIMIT_VERSIONS_PER_ROW", 10, 1, maxCount),
  versionDays: integer("LIMIT_VERSION_DAYS", 30, 1, 36_500),
  versionStorageBytes: integer("LIMIT_VERSION_STORAGE_BYTES", 250 * mib, 1, maxBytes),
  activeKeys: integer("LIMIT_ACTIVE_KEYS", 100, 1, maxCount),
  magicLinksPerEmailPerHour: integer("LIMIT_MAGIC_LINKS_PER_EMAIL_PER_HOUR", 5, 1, 1_000_000),
  magicLinksPerIpPerHour: integer("LIMIT_MAGIC_LINKS_PER_IP_PER_HOUR", 20, 1, 1_000_000),
  verifiesPerIpPerHour: integer("LIMIT_VERIFIES_PER_IP_PER_HOUR", 60, 1, 1_000_000),
  requestBytes: integer("LIMIT_REQUEST_BYTES", 8 * mib, 1024, 256 * mib),
  idempotencyStorageBytes: integer("LIMIT_IDEMPOTENCY_STORAGE_BYTES", 250 * mib, 1, maxBytes),
  idempotencyHours: integer("IDEMPOTENCY_HOURS", 24, 1, 8760),
  magicLinkMinutes: integer("MAGIC_LINK_MINUTES", 10, 1, 1440),
  linkMinutes: integer("LINK_MINUTES", 60, 1, 525_600)
}

const variables = {
  port: integer("PORT", 3000, 0, 65_535),
  host: variable("HOST", {
    parse: Option.liftPredicate(isHost),
    expected: "a host name or an IP address to listen on, like 127.0.0.1 or 0.0.0.0",
    unset: "127.0.0.1"
  }),
  baseUrl: variable("BASE_URL", {
    parse: (text) => Option.map(parseOrigin(text), Option.some),
    expected: "the public origin without a path, like https://memory.example.com",
    unset: Option.none<string>()
  }),
  databaseUrl: secretUrl("DATABASE_URL", ["postgres:", "postgresql:"], "postgres://user:password@host:5432/database"),
  dataDir: variable("DATA_DIR", {
    parse: Option.liftPredicate((text: string) => !text.includes("\0")),
    expected: "a folder",
    unset: "./data"
  }),
  redisUrl: secretUrl("REDIS_URL", ["redis:", "rediss:"], "redis://user:password@host:6379", isRedisUrl),
  smtpUrl: secretUrl("SMTP_URL", ["smtp:", "smtps:"], "smtps://user:password@mail.example.com"),
  mailFrom: variable("MAIL_FROM", {
    parse: (text) =>
      Option.map(
        Option.liftPredicate(text, (from) => fromAddress.test(from)),
        Option.some
      ),
    expected: "a sender like memory@example.com or Agent Memory <memory@example.com>",
    unset: Option.none<string>()
  }),
  mailToStdout: choice("MAIL_TO_STDOUT", ["true", "false"], "false"),
  allowedOrigins: list(
    "ALLOWED_ORIGINS",
    parseOrigin,
    "origins separated by commas, like https://app.example.com,http://localhost:6274"
  ),
  cimd: choice("CIMD", ["on", "off"], "on"),
  logLevel: choice("LOG_LEVEL", ["trace", "debug", "info", "warn", "error", "fatal", "none"], "info"),
  logFormat: choice("LOG_FORMAT", ["pretty", "json"], undefined),
  otlpEndpoint: variable("OTEL_EXPORTER_OTLP_ENDPOINT", {
    parse: (text) => Option.map(parseUrl(text, ["http:", "https:"]), () => Option.some(text.replace(/\/+$/, ""))),
    expected: "an http or https address like http://localhost:4318",
    unset: Option.none<string>()
  }),
  metricsToken: variable("METRICS_TOKEN", {
    parse: (text) =>
      /^[\x21-\x7e]+$/.test(text)
        ? Option.some(Option.some(Redacted.make(text, { label: "METRICS_TOKEN" })))
        : Option.none(),
    expected: "printable ASCII characters without spaces",
    unset: Option.none<Redacted.Redacted>(),
    secret: true
  }),
  trustedProxies: list(
    "TRUSTED_PROXIES",
    parseNetwork,
    "IP addresses or CIDR blocks separated by commas, like 10.0.0.0/8,::1"
  )
}

/** Says whether a host name or address can be reached from this machine alone. */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host.toLowerCase())

const issuesOf = (results: Record<string, Parsed<unknown>>): ReadonlyArray<ConfigIssue> =>
  Object.values(results).flatMap((result) => (Result.isFailure(result) ? [result.failure] : []))

/** The settings of one process, read once when it starts. */
export class Settings extends Context.Service<
  Settings,
  {
    readonly port: number
    readonly host: string
    /** The public origin, without a trailing slash. Every address that is given out is built from it. */
    readonly baseUrl: string
    /** The public origin is this machine's own. */
    readonly loopback: boolean
    /** The service is for this machine alone: no real mail, and both `BASE_URL` and `HOST` are loopback. */
    readonly localMode: boolean
    readonly databaseUrl: Option.Option<Redacted.Redacted>
    readonly dataDir: string
    readonly redisUrl: Option.Option<Redacted.Redacted>
    readonly smtpUrl: Option.Option<Redacted.Redacted>
    readonly mailFrom: string
    readonly allowedOrigins: ReadonlyArray<string>
    readonly cimd: boolean
    readonly logLevel: LogLevel.LogLevel
    readonly logFormat: "pretty" | "json"
    readonly otlpEndpoint: Option.Option<string>
    readonly metricsToken: Option.Option<Redacted.Redacted>
    readonly trustedProxies: ReadonlyArray<Network>
    readonly limits: ServiceLimits
  }
>()("agent-memory/server/Config/Settings") {
  static readonly layer: Layer.Layer<Settings, ConfigProblem> = Layer.effect(
    Settings,
    Effect.suspend(() => settings)
  )
}

const settings = Effect.gen(function* () {
  const results = yield* Config.all(variables)
  const limitResults = yield* Config.all(limits)
  const values = Result.all(results)
  const limitValues = Result.all(limitResults)
  if (Result.isFailure(values) || Result.isFailure(limitValues)) {
    return yield* new ConfigProblem({ issues: [...issuesOf(results), ...issuesOf(limitResults)] })
  }
  const { mailToStdout, cimd, logLevel, logFormat, mailFrom, ...plain } = values.success
  const baseUrl = Option.getOrElse(plain.baseUrl, () => `http://localhost:${plain.port}`)
  const hostname = new URL(baseUrl).hostname
  const loopback = isLoopbackHost(hostname)
  const withoutMail = Option.isNone(plain.smtpUrl)
  if (!loopback && withoutMail && mailToStdout === "false") {
    return yield* new ConfigProblem({
      issues: [
        {
          variable: "SMTP_URL",
          value: `unset while BASE_URL is ${baseUrl}`,
          expected:
            "SMTP_URL=smtps://user:password@mail.example.com to send the sign-in mails, or MAIL_TO_STDOUT=true to print them"
        }
      ]
    })
  }
  return Settings.of({
    ...plain,
    baseUrl,
    loopback,
    localMode: withoutMail && loopback && isLoopbackHost(plain.host),
    mailFrom: Option.getOrElse(mailFrom, () => `Agent Memory <no-reply@${hostname}>`),
    cimd: cimd === "on",
    logLevel: logLevels[logLevel],
    logFormat: logFormat ?? (process.stdout.isTTY ? "pretty" : "json"),
    limits: { ...limitValues.success, authRequestBytes: 16_384, importRequestBytes: 33_554_432 }
  })
}).pipe(
  Effect.catchTag("ConfigError", ({ message }) =>
    Effect.fail(
      new ConfigProblem({ issues: [{ variable: "The environment", value: "unreadable", expected: message }] })
    )
  )
)
