import { Cause, Context, Effect, Exit, Layer, Logger, Option, Predicate, References, Schema, Tracer } from "effect"
import type { Console } from "effect"
import { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"
import { Settings } from "../config/Settings.ts"

/** In milliseconds: how long a line waits for others to be written with it. */
const patience = 20

/** Lines are written at once when there are this many. */
const maxLines = 1000

/**
 * A console that writes lines in batches, because under load a system call per line is a large part of a request's cost. Lines
 * keep their order, errors are written at once, and at the end of the process nothing is lost.
 */
export const batchingConsole = (console: Console.Console): Console.Console => {
  const lines: Array<string> = []
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (lines.length > 0) console.log(lines.splice(0).join("\n"))
  }
  process.on("exit", flush)
  return {
    ...console,
    log: (...parts) => {
      lines.push(parts.map(String).join(" "))
      if (lines.length >= maxLines) flush()
      else timer ??= setTimeout(flush, patience).unref()
    },
    error: (...parts) => {
      flush()
      console.error(...parts)
    }
  }
}

// Keys, tokens in links and headers, and paths whose last segment is a secret.
const secrets =
  /svc_(?:live|access|refresh|local)_[\w-]+|\b[a-z2-7]{20}_[\w-]{43}\b|([?&](?:token|code|local)=)[^&\s"']+|(\/(?:view|download)\/)(?!:token)[^\s"'?#/]+|(Bearer )[^\s"']+/g

/** The text without secrets that give access to an account, a row or a link. */
export const withoutSecrets = (text: string): string => text.replace(secrets, "$1$2$3[redacted]")

const isProblem = (error: unknown): error is Error & { readonly code: string } =>
  Predicate.isError(error) && "code" in error && "detail" in error

const place = (cause: unknown): string =>
  ["constraint", "table", "column", "routine"]
    .flatMap((name) =>
      Predicate.hasProperty(cause, name) && Predicate.isString(cause[name]) ? [`${name} ${cause[name]}`] : []
    )
    .join(", ")

/** Messages of PostgreSQL quote parameters, those of parsers quote their input, and those of the server the URL. */
const messageOf = (error: unknown): string => {
  if (SqlError.isSqlError(error)) {
    const where = place(error.reason.cause)
    return where === "" ? error.reason._tag : `${error.reason._tag} (${where})`
  }
  if (HttpServerError.isHttpServerError(error)) return error.reason._tag
  if (Schema.isSchemaError(error) || error instanceof SyntaxError) return "(not shown: it may quote stored data)"
  if (isProblem(error)) return error.code
  return Predicate.isError(error) ? withoutSecrets(error.message) : "(no error object)"
}

const nameOf = (error: unknown): string => (Predicate.isError(error) ? error.name : typeof error)

const safeError = (error: unknown, stack: string): Error => {
  const inner = Predicate.isError(error) && !SqlError.isSqlError(error) ? error.cause : undefined
  const message = Predicate.isError(inner)
    ? `${messageOf(error)} [${nameOf(inner)}: ${messageOf(inner)}]`
    : messageOf(error)
  const safe = new Error(message)
  safe.name = nameOf(error)
  safe.stack = `${safe.name}: ${message}${stack}`
  return safe
}

const frames = (stack: string | undefined): string =>
  (stack ?? "")
    .split("\n")
    .filter((line) => /^\s+at \S/.test(line))
    .slice(0, 20)
    .map((line) => `\n${line}`)
    .join("")

const errorsOf = ({ reasons }: Cause.Cause<unknown>): ReadonlyArray<unknown> =>
  reasons.flatMap((reason) =>
    Cause.isInterruptReason(reason) ? [] : [Cause.isFailReason(reason) ? reason.error : reason.defect]
  )

/** The errors of a cause as they may be logged, without interruptions. */
export const safeErrors = (cause: Cause.Cause<unknown>): ReadonlyArray<Error> => {
  const errors = errorsOf(cause)
  if (errors.length === 0) return []
  const pretty = Cause.prettyErrors(cause)
  return errors.map((error, index) => safeError(error, frames(pretty[index]?.stack)))
}

/** The exit of a span without stack and values. */
export const safeExit = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const reasons = errorsOf(exit.cause).map((error) => Cause.makeDieReason(safeError(error, "")))
  return Exit.failCause(Cause.fromReasons(reasons))
}

/** The fields of a request's log line. None contains anything that the sender wrote. */
export interface RequestFields {
  readonly request_id: string
  readonly method: string
  /** Such as `rows.query`. */
  readonly operation: string
  readonly status: number
  readonly duration_ms: number
  readonly account_id: string | undefined
  readonly key_id: string | undefined
  readonly connection_id: string | undefined
  /** The problem's code, if the response is one. */
  readonly code: string | undefined
}

/** The message of a request's log line. As every request has one, it is printed without a search for secrets. */
export class RequestLine {
  readonly fields: RequestFields
  /** The pattern of the path, such as `/v1/:table`. */
  readonly path: string
  constructor(fields: RequestFields, path: string) {
    this.fields = fields
    this.path = path
  }

  get text(): string {
    return `${this.fields.operation} ${this.fields.status}`
  }
}

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
    if (part instanceof RequestLine) {
      words.push(part.text)
      for (const [name, value] of Object.entries(part.fields)) if (value !== undefined) fields[name] = value
    } else if (isFields(part)) Object.assign(fields, part)
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

const ofRequest = (message: unknown): RequestLine | undefined => {
  const first: unknown = Array.isArray(message) && message.length === 1 ? message[0] : message
  return first instanceof RequestLine ? first : undefined
}

/** One JSON object per line: `timestamp`, `level`, `message` and the line's own fields. */
const json = (withTrace: boolean) =>
  Logger.make<unknown, string>((options) => {
    const request = withTrace || options.cause.reasons.length > 0 ? undefined : ofRequest(options.message)
    if (request !== undefined) {
      const { fields, text } = request
      const timestamp = options.date.toISOString()
      return JSON.stringify({ timestamp, level: options.logLevel.toLowerCase(), message: text, ...fields })
    }
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

/** A request on one line: method, path, status, milliseconds and account; for a failed one also the code and id. */
const forTerminal = ({ fields, path }: RequestLine, all: Record<string, unknown>): Omit<Line, "errors"> => {
  const { account_id, code, duration_ms, method, request_id, status } = fields
  const text = [method, path, status, `${Math.round(duration_ms)} ms`, account_id].filter((part) => part !== undefined)
  const details = { code, request_id: status >= 500 ? request_id : undefined, trace_id: all["trace_id"] }
  return {
    text: text.join(" "),
    fields: Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined))
  }
}

/** One line for people, with the stacks of failures below it. */
const pretty = (withTrace: boolean) => {
  const color = (code: string, text: string) => (process.stdout.isTTY ? `\u001b[${code}m${text}\u001b[0m` : text)
  return Logger.make<unknown, string>((options) => {
    const { errors, ...line } = lineOf(options, withTrace)
    const request = ofRequest(options.message)
    const { fields, text } = request === undefined ? line : forTerminal(request, line.fields)
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

/** Logs to the terminal, for people or as JSON, from `LOG_LEVEL` up. No line has a secret or the values of a statement. */
export const LoggingLayer = Layer.unwrap(
  Effect.map(Settings, ({ logFormat, logLevel, otlpEndpoint }) => {
    const format = logFormat === "json" ? json : pretty
    return Layer.merge(
      Logger.layer([Logger.withConsoleLog(format(Option.isSome(otlpEndpoint)))]),
      Layer.succeed(References.MinimumLogLevel, logLevel)
    )
  })
)
