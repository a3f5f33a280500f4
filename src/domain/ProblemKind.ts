import { Effect, Schema } from "effect"
import { HttpApiError } from "effect/http-api"

/** A class of errors without stack traces: a trace keeps what its functions work on in memory, maybe all rows. */
export const stackless = <A extends new (...args: ReadonlyArray<never>) => Error>(Base: A): A =>
  new Proxy(Base, {
    construct: (base, args, made) => {
      const limit = Error.stackTraceLimit
      Error.stackTraceLimit = 0
      try {
        return Reflect.construct(base, args, made) as Error
      } finally {
        Error.stackTraceLimit = limit
      }
    }
  })

/**
 * A kind of problem. It says what the caller can do, so it has no stack trace. Beside RFC 9457's members each has: `code`,
 * which is stable and documented at `/docs/errors#<code>`, `hint`, the next call to make, `request_id`, which names the request
 * in the logs, and `operation`, the index of the failed one in a batch. `status` is the usual one.
 */
export const Problem =
  <Self>() =>
  <const Tag extends string, const Code extends string, const Members extends Schema.Struct.Fields = {}>(
    tag: Tag,
    status: number,
    code: Code,
    { hint, members, title }: { readonly title: string; readonly hint: string; readonly members?: Members }
  ) => {
    const made = HttpApiError.Problem<Self>()(
      tag,
      { type: `/docs/errors#${code}` as const, status, title },
      {
        code: Schema.tag(code),
        hint: Schema.optionalKey(Schema.String).pipe(Schema.withConstructorDefault(Effect.succeed(hint))),
        request_id: Schema.optionalKey(Schema.String),
        operation: Schema.optionalKey(Schema.Finite),
        ...(members as Members)
      }
    )
    return stackless(made as never) as typeof made
  }

/** A problem with other members, or more of them. */
export const withMembers = <P extends object>(problem: P, changed: { readonly [Member in keyof P]?: P[Member] }): P =>
  new (problem.constructor as new (members: object) => P)({ ...problem, ...changed })

/**
 * One invalid field of a request: `path` is a JSON Pointer (RFC 6901) into the body, `parameter` the name of a
 * query or path parameter or of a header. With both, the pointer leads into the JSON value of the parameter.
 */
export const FieldIssue = Schema.Struct({
  parameter: Schema.optionalKey(Schema.String),
  path: Schema.optionalKey(Schema.String),
  message: Schema.String
})
export type FieldIssue = typeof FieldIssue.Type

/** The error of one field of a request, which is named by a JSON Pointer, or by a parameter and one, as in `filter/age`. */
export const fieldIssue = (place: string, message: string): FieldIssue => {
  if (place === "" || place.startsWith("/")) return { path: place, message }
  const [parameter = "", ...tokens] = place.split("/")
  return tokens.length === 0 ? { parameter, message } : { parameter, path: `/${tokens.join("/")}`, message }
}

/** The invalid fields. */
export const errors = { errors: Schema.optionalKey(Schema.Array(FieldIssue)) }

/** What is allowed, and how much of it there is or would be, in the unit that `detail` names. */
export const limits = { limit: Schema.Finite, current: Schema.Finite }

/** The same of what is counted in the account: `current` is left out where the request is refused before it is looked at. */
export const countLimits = { limit: Schema.Finite, current: Schema.optionalKey(Schema.Finite) }
