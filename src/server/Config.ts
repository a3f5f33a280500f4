import { Config, Context, Data, Effect, Layer, Option, Result, type LogLevel, type Redacted } from "effect"
import type { Limits } from "../domain/Limits.ts"
import { accountLimits, accountShare, historyLimits, requestLimits, signInLimits } from "./config/LimitSettings.ts"
import {
  addressSettings,
  mailSettings,
  storageSettings,
  telemetrySettings,
  trustSettings
} from "./config/ProcessSettings.ts"
import type { ConfigIssue, Parsed, Setting } from "./config/Setting.ts"
import type { Network } from "./http/ClientIp.ts"

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
  readonly accountWritesPerMinute: number
  readonly accountReadsPerMinute: number
  readonly activeKeys: number
  readonly keysPerHour: number
  readonly revokedKeyDays: number
  readonly liveLinks: number
  readonly magicLinksPerEmailPerHour: number
  readonly magicLinksPerIpPerHour: number
  readonly verifiesPerIpPerHour: number
  readonly registrationsPerIpPerHour: number
  readonly mcpRequestsPerIpPerMinute: number
  readonly anonymousPostsPerIpPerMinute: number
  readonly requestBytes: number
  readonly authRequestBytes: number
  readonly importRequestBytes: number
  readonly magicLinkMinutes: number
  readonly linkMinutes: number
}

const logLevels = {
  trace: "Trace",
  debug: "Debug",
  info: "Info",
  warn: "Warn",
  error: "Error",
  fatal: "Fatal",
  none: "None"
} as const satisfies Record<string, LogLevel.LogLevel>

const limits = { ...accountLimits, ...historyLimits, ...requestLimits, ...signInLimits }

const variables = { ...addressSettings, ...storageSettings, ...mailSettings, ...trustSettings, ...telemetrySettings }

/** Every setting, in groups, for those who describe them. Other variables are not read. */
export const settingGroups: ReadonlyArray<readonly [name: string, settings: ReadonlyArray<Setting<unknown>>]> = [
  ["Address", Object.values(addressSettings)],
  ["Storage", Object.values(storageSettings)],
  ["Mail", Object.values(mailSettings)],
  ["Trust", Object.values(trustSettings)],
  ["Logs, metrics and traces", Object.values(telemetrySettings)],
  ["Limits of an account", Object.values(accountLimits)],
  ["Limits of the past", Object.values(historyLimits)],
  ["Limits of requests", Object.values(requestLimits)],
  ["Limits of signing in, and lives of links", Object.values(signInLimits)]
]

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
    /** `BASE_URL` is unset, so that the public origin is this machine's own. */
    readonly isBaseUrlAssumed: boolean
    /** The public origin is this machine's own. */
    readonly loopback: boolean
    /**
     * The service is for this machine alone: no real mail, and both `BASE_URL` and `HOST` are loopback. Then mails are shown
     * to whoever has the `LocalSecret`.
     */
    readonly localMode: boolean
    readonly databaseUrl: Option.Option<Redacted.Redacted>
    readonly dataDir: string
    /** What tables in memory may take; 0 keeps none. */
    readonly cacheBytes: number
    readonly redisUrl: Option.Option<Redacted.Redacted>
    readonly smtpUrl: Option.Option<Redacted.Redacted>
    readonly mailFrom: string
    /** Who may make an account; a list holds the domains of e-mail addresses, in lower case. */
    readonly signUp: "open" | "closed" | ReadonlyArray<string>
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

/** Reads settings together, so that every wrong one can be told at once. */
const readAll = <const A extends Record<string, Setting<unknown>>>(settings: A) =>
  Config.all(
    Object.fromEntries(Object.entries(settings).map(([name, { config }]) => [name, config])) as {
      readonly [Name in keyof A]: A[Name]["config"]
    }
  )

const mib = 1024 * 1024

/** What an import may send: a full account's rows and, beside them, the system fields of many small ones. */
const importBytes = (storageBytes: number): number =>
  Math.min(256 * mib, Math.max(32 * mib, Math.ceil(storageBytes * 1.28)))

/** What an account may send a minute, where one of its keys may send `perKey`. */
const shareOf = (set: Option.Option<number>, perKey: number): number =>
  Option.getOrElse(set, () => accountShare * perKey)

/** The public origin of a service without `BASE_URL` that listens on a port. */
export const localUrl = (port: number): string => `http://localhost:${port}`

const settings = Effect.gen(function* () {
  const results = yield* readAll(variables)
  const limitResults = yield* readAll(limits)
  const values = Result.all(results)
  const limitValues = Result.all(limitResults)
  if (Result.isFailure(values) || Result.isFailure(limitValues)) {
    return yield* new ConfigProblem({ issues: [...issuesOf(results), ...issuesOf(limitResults)] })
  }
  const { mailToStdout, cimd, logLevel, logFormat, mailFrom, ...plain } = values.success
  const baseUrl = Option.getOrElse(plain.baseUrl, () => localUrl(plain.port))
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
    isBaseUrlAssumed: Option.isNone(plain.baseUrl),
    loopback,
    localMode: withoutMail && loopback && isLoopbackHost(plain.host),
    mailFrom: Option.getOrElse(mailFrom, () => `Agent Memory <no-reply@${hostname}>`),
    cimd: cimd === "on",
    logLevel: logLevels[logLevel],
    logFormat: logFormat ?? (process.stdout.isTTY ? "pretty" : "json"),
    limits: {
      ...limitValues.success,
      accountWritesPerMinute: shareOf(limitValues.success.accountWritesPerMinute, limitValues.success.writesPerMinute),
      accountReadsPerMinute: shareOf(limitValues.success.accountReadsPerMinute, limitValues.success.readsPerMinute),
      authRequestBytes: 16_384,
      importRequestBytes: importBytes(limitValues.success.storageBytes)
    }
  })
}).pipe(
  Effect.catchTag("ConfigError", ({ message }) =>
    Effect.fail(
      new ConfigProblem({ issues: [{ variable: "The environment", value: "unreadable", expected: message }] })
    )
  )
)
