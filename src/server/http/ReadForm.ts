import { Data, Effect } from "effect"
import type { HttpServerRequest } from "effect/http"
import { decodeUtf8 } from "../../domain/json/Utf8.ts"
import { BodyFault, readSmallBody } from "../capacity/ReadBody.ts"

/** The body is no form: another content type, compressed, or not UTF-8. */
export class NotAForm extends Data.TaggedError("NotAForm")<{ readonly detail: string }> {}

const isForm = (contentType: string): boolean =>
  contentType.split(";", 1)[0]!.trim().toLowerCase() === "application/x-www-form-urlencoded"

/** Reads a form of at most so many bytes, as browsers and OAuth clients send it. */
export const readForm = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  limit: number
): Effect.fn.Return<URLSearchParams, NotAForm | BodyFault> {
  const { "content-encoding": encoding = "identity", "content-type": contentType = "" } = request.headers
  if (!isForm(contentType)) {
    return yield* new NotAForm({ detail: "The body must be a form: Content-Type application/x-www-form-urlencoded." })
  }
  if (encoding.toLowerCase() !== "identity") {
    return yield* new NotAForm({ detail: "The body must not be compressed." })
  }
  if (Number(request.headers["content-length"] ?? 0) > limit) return yield* new BodyFault({ fault: "too large" })
  const text = decodeUtf8(yield* readSmallBody(request, limit))
  if (text.issue !== undefined) return yield* new NotAForm({ detail: "The body must be UTF-8." })
  return new URLSearchParams(text.value)
})
