import { Config, Context, Data, Effect, Layer, Option, Result, type LogLevel } from "effect"
import { isMeasure } from "../../domain/Amounts.ts"
import { limitGroups, limitNames, limits, limitsWith, type Limit, type Limits } from "../../domain/Limits.ts"
import { addressSettings, mailSettings, storageSettings, telemetrySettings, trustSettings } from "./ProcessSettings.ts"
import { integer, type ConfigIssue, type Parsed, type Setting } from "./Setting.ts"

/** Some settings are invalid. The message has a line for each of them, with the accepted values. */
export class ConfigProblem extends Data.TaggedError("ConfigProblem")<{ readonly issues: ReadonlyArray<ConfigIssue> }> {
  override get message(): string {
    const lines = this.issues.map(({ variable, value, expected }) => `  ${variable} is ${value}: expected ${expected}`)
    return ["Invalid settings:", ...lines].join("\n")
  }
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

const limitSetting = (limit: Limit): ReadonlyArray<Setting<number | undefined>> => {
  const { fallback, meaning, range, setting, unit } = limit
  if (setting === undefined || range === undefined) return []
  const description = { meaning, ...(isMeasure(unit) && { measure: unit }) }
  return typeof fallback === "number"
    ? [integer(setting, fallback, range, description)]
    : [integer(setting, undefined, range, { ...description, otherwise: fallback.rule })]
}

const limitSettings = Object.fromEntries(
  limitNames.flatMap((name) => limitSetting(limits[name]).map((setting) => [name, setting]))
)

const variables = { ...addressSettings, ...storageSettings, ...mailSettings, ...trustSettings, ...telemetrySettings }

/** Every setting that is read, in groups under their headings. */
export const settingGroups: ReadonlyArray<readonly [name: string, settings: ReadonlyArray<Setting<unknown>>]> = [
  ["Address", Object.values(addressSettings)],
  ["Storage", Object.values(storageSettings)],
  ["Mail", Object.values(mailSettings)],
  ["Trust", Object.values(trustSettings)],
  ["Logs, metrics and traces", Object.values(telemetrySettings)],
  ...limitGroups.map(([heading, group]) => [heading, Object.values(group).flatMap(limitSetting)] as const)
]

/** Whether a host name or address can only be reached from this machine. */
export const isLoopbackHost = (host: string): boolean =>
  /^(?:localhost|.+\.localhost|127(?:\.\d{1,3}){3}|\[?::1\]?)$/.test(host.toLowerCase())

type Values = {
  readonly [Name in keyof typeof variables]: (typeof variables)[Name] extends Setting<infer A> ? A : never
}

/** The settings of one process, read once when it starts: most as the variable has them, others with what follows. */
export class Settings extends Context.Service<
  Settings,
  Omit<Values, "baseUrl" | "mailFrom" | "mailToStdout" | "cimd" | "logLevel" | "logFormat"> & {
    /** The public origin, without a trailing slash. All URLs that the service gives out start with it. */
    readonly baseUrl: string
    /** `BASE_URL` is not set, so the public origin is this machine. */
    readonly isBaseUrlAssumed: boolean
    /** The public origin is this machine. */
    readonly loopback: boolean
    /** The service sends no mail, `BASE_URL` and `HOST` are loopback, and the `LocalSecret` opens the mails. */
    readonly localMode: boolean
    readonly mailFrom: string
    readonly cimd: boolean
    readonly logLevel: LogLevel.LogLevel
    readonly logFormat: "pretty" | "json"
    readonly limits: Limits
  }
>()("agent-memory/server/config/Settings") {
  static readonly layer: Layer.Layer<Settings, ConfigProblem> = Layer.effect(
    Settings,
    Effect.suspend(() => settings)
  )
}

/** Reads all settings before any is used, so that all invalid ones are reported at once. */
const readAll = <const A extends Record<string, Setting<unknown>>>(settings: A) =>
  Config.all(
    Object.fromEntries(Object.entries(settings).map(([name, { config }]) => [name, config])) as {
      readonly [Name in keyof A]: A[Name]["config"]
    }
  )

/** The public origin of a service without `BASE_URL` that listens on a port. */
export const localUrl = (port: number): string => `http://localhost:${port}`

const settings = Effect.gen(function* () {
  const results = yield* readAll(variables)
  const limitResults = yield* readAll(limitSettings)
  const values = Result.all(results)
  const limitValues = Result.all(limitResults)
  if (Result.isFailure(values) || Result.isFailure(limitValues)) {
    const all: ReadonlyArray<Parsed<unknown>> = [...Object.values(results), ...Object.values(limitResults)]
    return yield* new ConfigProblem({ issues: all.flatMap((read) => (Result.isFailure(read) ? [read.failure] : [])) })
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
          value: `not set while BASE_URL is ${baseUrl}`,
          expected:
            "SMTP_URL=smtps://user:password@mail.example.com to send sign-in mails, or MAIL_TO_STDOUT=true to print them"
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
    limits: limitsWith(limitValues.success)
  })
}).pipe(
  Effect.catchTag("ConfigError", ({ message }) =>
    Effect.fail(
      new ConfigProblem({ issues: [{ variable: "The environment", value: "unreadable", expected: message }] })
    )
  )
)
