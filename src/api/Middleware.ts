import { Context, Schema, SchemaTransformation, Struct } from "effect"
import { ProblemDetails } from "effect/http"
import { HttpApi, HttpApiMiddleware, HttpApiSchema, HttpApiSecurity, OpenApi, type HttpApiGroup } from "effect/http-api"
import type { Actor } from "../domain/Actor.ts"
import * as P from "../domain/Problem.ts"

/** Who sent the request, and how many requests of its class the key can still send at once. */
export class CurrentActor extends Context.Service<CurrentActor, Actor & { readonly remaining: number }>()(
  "agent-memory/api/Middleware/CurrentActor"
) {}

/** Which of a key's two rate limits an operation spends: writes change rows or keys, everything else is a read. */
export const CallClass = Context.Reference<"read" | "write">("agent-memory/api/Middleware/CallClass", {
  defaultValue: () => "read"
})

/** Requires an API key and spends one request of its rate limit. Every response says how many are left. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentActor }>()(
  "agent-memory/api/Middleware/Authentication",
  {
    requiredForClient: true,
    security: { bearer: HttpApiSecurity.bearer },
    error: [P.Unauthenticated, P.RateLimited, P.Unavailable]
  }
) {}

/** Which limit a body has: `small` is `authRequestBytes`, `row` what one row can need, `import` `importRequestBytes`. */
type BodySizes = "small" | "row" | "usual" | "import"
export const BodySize = Context.Reference<BodySizes>("agent-memory/api/Middleware/BodySize", {
  defaultValue: () => "usual"
})

/** What is said of an operation that spends a read. */
export const reads = (summary: string, description: string, body: BodySizes = "usual") =>
  Context.add(OpenApi.annotations({ summary, description }), BodySize, body)

/** What is said of an operation that spends a write. */
export const writes = (summary: string, description: string, body?: BodySizes) =>
  Context.add(reads(summary, description, body), CallClass, "write")

/** Checks media type, size and UTF-8 of the whole body. Operations declare the errors of a bad body themselves. */
export class RequestBody extends HttpApiMiddleware.Service<RequestBody>()("agent-memory/api/Middleware/RequestBody", {
  error: P.UnsupportedMediaType
}) {}

/** Renders every failure as problem+json (RFC 9457) with the request's id. */
export class Problems extends HttpApiMiddleware.Service<Problems>()("agent-memory/api/Middleware/Problems", {
  error: [P.NotFound, P.InternalError]
}) {}

/** The failures that the endpoints of an interface declare: how to recognise each, and its status there. */
export const declaredErrors = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
) => {
  const declared: Array<{ readonly status: number; readonly is: (value: unknown) => boolean }> = []
  HttpApi.reflect(api, {
    onGroup: () => undefined,
    onEndpoint: ({ errors }) => {
      for (const [status, schemas] of errors) {
        declared.push(...schemas.map((schema) => ({ status, is: Schema.is(schema) })))
      }
    }
  })
  return declared
}

/** A class of `domain/Problem.ts`. */
interface ProblemClass extends Schema.Top {
  new (members: never): object
  readonly identifier: string
  readonly fields: Schema.Struct.Fields
}

// One schema for each class and status, so that the OpenAPI document names it once.
const made = new Map<string, Schema.Top>()

/** Declares a failure with another status than its usual one, in the response and in its `status` member. */
export const withStatus = <P extends ProblemClass>(
  status: number,
  Problem: P
): Schema.Codec<P["Type"], P["Encoded"]> => {
  const identifier = `${Problem.identifier}${status}`
  const schema =
    made.get(identifier) ??
    Schema.Struct({ ...Problem.fields, status: Schema.optionalKey(Schema.Literal(status)) })
      .pipe(
        Schema.decodeTo(
          Schema.toType(Problem),
          SchemaTransformation.transform({
            decode: (members: { readonly status?: number }) =>
              Object.defineProperty(new Problem(Struct.omit(members, ["status"]) as never), "status", {
                value: status,
                enumerable: true
              }),
            encode: (problem: object) => ({ ...problem, status })
          }) as never
        ),
        HttpApiSchema.asJson({ contentType: ProblemDetails.contentType })
      )
      .annotate({ httpApiStatus: status, identifier })
  made.set(identifier, schema)
  return schema as Schema.Codec<P["Type"], P["Encoded"]>
}
