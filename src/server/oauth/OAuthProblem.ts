import { Data, Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { Settings } from "../config/Settings.ts"
import { readForm } from "../doors/Bodies.ts"
import type { Problem, Renderer } from "../doors/RenderProblem.ts"

/** The maximum number of parameters of an OAuth request. Clients send about ten. */
export const maxParameters = 20

type ErrorCode =
  | "invalid_request"
  | "invalid_client"
  | "invalid_grant"
  | "invalid_scope"
  | "invalid_target"
  | "unsupported_grant_type"
  | "invalid_client_metadata"
  | "invalid_redirect_uri"

/** An error of an OAuth endpoint, as in RFC 6749 section 5.2 and RFC 7591 section 3.2.2. */
export class OAuthProblem extends Data.TaggedError("OAuthProblem")<{
  readonly code: ErrorCode
  readonly detail: string
}> {
  get status(): 400 | 401 {
    return this.code === "invalid_client" ? 401 : 400
  }
}

/** The problem with this error code and description. */
export const oauthProblem = (code: ErrorCode, detail: string): OAuthProblem => new OAuthProblem({ code, detail })

/** A JSON response of an OAuth endpoint. It may contain secrets, so no cache may store it (RFC 6749 section 5.1). */
export const oauthJson = (body: unknown, status = 200): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.jsonUnsafe(body, { status, headers: { "cache-control": "no-store", pragma: "no-cache" } })

// RFC 6749 allows no quotes, no backslashes and only ASCII in a description.
const described = (text: string): string => text.replaceAll('"', "'").replaceAll(/[^ !#-[\]-~]/gu, "?")

const errorOf = ({ status }: Problem, invalid: ErrorCode): string =>
  status === 429 || status === 503 ? "temporarily_unavailable" : invalid

/** Renders errors in OAuth's format. `invalid` is the error code for a body that cannot be read. */
export const oauthRenderer =
  (invalid: ErrorCode): Renderer<OAuthProblem | Problem> =>
  (failure, { request }) => {
    const error = failure instanceof OAuthProblem ? failure.code : errorOf(failure, invalid)
    // OAuth has no error for an unsupported media type.
    const status = failure.status === 415 ? 400 : failure.status
    const response = oauthJson({ error, error_description: described(failure.detail ?? "") }, status)
    // A client that tried to authenticate by header gets a challenge (RFC 6749 section 5.2).
    return status === 401 && request.headers["authorization"] !== undefined
      ? HttpServerResponse.setHeader(response, "www-authenticate", 'Basic realm="Agent Memory"')
      : response
  }

/** Reads the form that a client posts. Only `resource` may be repeated (RFC 6749 section 3.2). */
export const readOAuthForm = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
  const { limits } = yield* Settings
  const form = yield* readForm(request, limits.authRequestBytes)
  if (form.size > maxParameters) {
    return yield* oauthProblem("invalid_request", `The form may have at most ${maxParameters} parameters.`)
  }
  const names = [...form.keys()]
  const twice = names.find((name, index) => name !== "resource" && names.indexOf(name) < index)
  if (twice === undefined) return form
  return yield* oauthProblem("invalid_request", `${twice.slice(0, 100)} must be sent only once.`)
})
