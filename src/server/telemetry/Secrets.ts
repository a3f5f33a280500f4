import { Cause, Exit, Predicate, Schema } from "effect"
import { HttpServerError } from "effect/http"
import { SqlError } from "effect/sql"

// Keys, tokens in links and headers, and paths whose last segment is a secret.
const secrets =
  /svc_(?:live|access|refresh|local)_[\w-]+|\b[a-z2-7]{20}_[\w-]{43}\b|([?&](?:token|code|local)=)[^&\s"']+|(\/(?:view|download)\/)(?!:token)[^\s"'?#/]+|(Bearer )[^\s"']+/g

/** The text without secrets that give access to an account, a row or a link. */
export const withoutSecrets = (text: string): string => text.replace(secrets, "$1$2$3[redacted]")

const isProblem = Predicate.compose(
  Predicate.isError,
  (error): error is Error & { readonly code: string } =>
    Predicate.hasProperty(error, "code") && Predicate.hasProperty(error, "detail")
)

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

/** The errors of a cause as they may be logged, without interruptions. */
export const safeErrors = (cause: Cause.Cause<unknown>): ReadonlyArray<Error> => {
  const errors = cause.reasons.flatMap((reason) =>
    Cause.isInterruptReason(reason) ? [] : [Cause.isFailReason(reason) ? reason.error : reason.defect]
  )
  if (errors.length === 0) return []
  const pretty = Cause.prettyErrors(cause)
  return errors.map((error, index) => safeError(error, frames(pretty[index]?.stack)))
}

/** The exit of a span without stack and values. */
export const safeExit = (exit: Exit.Exit<unknown, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit) || Cause.hasInterruptsOnly(exit.cause)) return exit
  const reasons = exit.cause.reasons.flatMap((reason) => {
    if (Cause.isInterruptReason(reason)) return []
    const error = Cause.isFailReason(reason) ? reason.error : reason.defect
    return [Cause.makeDieReason(safeError(error, ""))]
  })
  return Exit.failCause(Cause.fromReasons(reasons))
}
