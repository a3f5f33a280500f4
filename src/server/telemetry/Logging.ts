import { Cause, Effect, Layer, Logger, Option, Predicate, References, Tracer, Context } from "effect"
import { Settings } from "../Config.ts"
import { safeErrors, withoutSecrets } from "./Secrets.ts"

interface Line {
  readonly text: string
  readonly fields: Record<string, unknown>
  readonly errors: ReadonlyArray<Error>
}

const isFields = (part: unknown): part is Record<string, unknown> =>
  Predicate.isObject(part) && Object.getPrototypeOf(part) === Object.prototype

const lineOf = ({ cause, fiber, message }: Logger.Options<unknown>, withTrace: boolean): Line => {
  const parts: ReadonlyArray<unknown> = Array.isArray(message) ? message : [message]
  const words: Array<string> = []
  const fields: Record<string, unknown> = { ...fiber.getRef(References.CurrentLogAnnotations) }
  for (const part of parts) {
    if (isFields(part)) Object.assign(fields, part)
    else if (Predicate.isError(part)) words.push(...safeErrors(Cause.die(part)).map(({ message }) => message))
    else words.push(String(part))
  }
  const span = withTrace ? Context.getOrUndefined(fiber.context, Tracer.ParentSpan) : undefined
  if (span !== undefined) fields["trace_id"] = span.traceId
  return { text: words.join(" "), fields, errors: safeErrors(cause) }
}

const printable = (value: unknown): unknown => {
  if (typeof value === "bigint") return String(value)
  return Predicate.isError(value) ? value.name : value
}

const stringify = (value: unknown): string => {
  try {
    return JSON.stringify(value, (_, inner: unknown) => printable(inner)) ?? "null"
  } catch {
    return '"(cannot be printed)"'
  }
}

/** One JSON object a line: `timestamp`, `level`, `message` and the line's own fields side by side. */
const json = (withTrace: boolean) =>
  Logger.make<unknown, string>((options) => {
    const { errors, fields, text } = lineOf(options, withTrace)
    return withoutSecrets(
      stringify({
        timestamp: options.date.toISOString(),
        level: options.logLevel.toLowerCase(),
        message: text,
        ...fields,
        ...(errors.length === 0 ? {} : { errors: errors.map(({ stack }) => stack) })
      })
    )
  })

const colors: Record<string, string> = { FATAL: "31", ERROR: "31", WARN: "33", INFO: "32" }

/** One line for people, and the stacks of a failure below it. */
const pretty = (withTrace: boolean) => {
  const color = (code: string, text: string) => (process.stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text)
  return Logger.make<unknown, string>((options) => {
    const { errors, fields, text } = lineOf(options, withTrace)
    const level = options.logLevel.toUpperCase()
    const details = Object.entries(fields).map(
      ([name, value]) => `${name}=${typeof value === "string" ? value : stringify(value)}`
    )
    const head = [
      options.date.toISOString().slice(11, 23),
      color(colors[level] ?? "90", level.padEnd(5)),
      text,
      color("90", details.join(" "))
    ]
    return withoutSecrets([head.join(" ").trimEnd(), ...errors.map(({ stack }) => stack ?? "")].join("\n"))
  })
}

/** Logs to the terminal, for people or as JSON, from `LOG_LEVEL` on. No line has a secret or a statement's values. */
export const LoggingLayer = Layer.unwrap(
  Effect.map(Settings, ({ logFormat, logLevel, otlpEndpoint }) => {
    const format = logFormat === "json" ? json : pretty
    return Layer.merge(
      Logger.layer([Logger.withConsoleLog(format(Option.isSome(otlpEndpoint)))]),
      Layer.succeed(References.MinimumLogLevel, logLevel)
    )
  })
)
