import { Context } from "effect"
import { HttpApiMiddleware } from "effect/http-api"
import { InternalError, NotFound, UnsupportedMediaType } from "../domain/Problem.ts"

/**
 * Reads the body whole: media type, size and UTF-8 are checked before any of it is used. An operation with a body or a
 * query declares itself what a bad one is refused with.
 */
export class RequestBody extends HttpApiMiddleware.Service<RequestBody>()("agent-memory/api/RequestBody", {
  error: UnsupportedMediaType
}) {}

/**
 * Which limit an operation's body is held to: `small` is that of sign-in, keys and links (16 KB), `row` what one row can
 * need (448 KB), `import` that of a whole account.
 */
export const BodySize = Context.Reference<"small" | "row" | "usual" | "import">("agent-memory/api/Requests/BodySize", {
  defaultValue: () => "usual"
})

/** Renders every failure as problem+json (RFC 9457) with the request's id. */
export class Problems extends HttpApiMiddleware.Service<Problems>()("agent-memory/api/Problems", {
  error: [NotFound, InternalError]
}) {}
