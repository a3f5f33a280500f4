import { Effect } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { RateLimited, Unavailable } from "../../domain/Problem.ts"
import { CurrentRequest } from "../http/CurrentRequest.ts"
import { DatabasePulse } from "../sql/DatabasePulse.ts"
import { authenticateClient } from "./ClientAuthentication.ts"
import { ClientTokens } from "./ClientTokens.ts"
import { oauthError, oauthJson } from "./OAuthAnswer.ts"
import { readOAuthForm } from "./OAuthForm.ts"
import { invalidRequest, OAuthProblem } from "./OAuthProblem.ts"

/** An empty parameter counts as absent (RFC 6749 section 3.2). */
const parameter = (form: URLSearchParams, name: string): string | null => form.get(name) || null

const required = (form: URLSearchParams, name: string) => {
  const value = parameter(form, name)
  return value === null ? Effect.fail(invalidRequest(`${name} is missing.`)) : Effect.succeed(value)
}

const resourcesOf = (form: URLSearchParams) => form.getAll("resource").filter((resource) => resource !== "")

/** Who fails to authenticate by header is told how (RFC 6749 section 5.2). */
const challenge = { "www-authenticate": 'Basic realm="Agent Memory"' }

const render = Effect.fnUntraced(function* (problem: OAuthProblem | RateLimited | Unavailable) {
  const { headers } = yield* HttpServerRequest.HttpServerRequest
  const record = yield* CurrentRequest
  if (problem._tag === "Unavailable") {
    record.code = problem.code
    return oauthError(503, "temporarily_unavailable", problem.detail ?? "The service is not ready.", {
      "retry-after": "1"
    })
  }
  if (problem._tag === "RateLimited") {
    record.code = problem.code
    return oauthError(429, "temporarily_unavailable", problem.detail ?? "Too many requests.", {
      "retry-after": String(problem.retry_after)
    })
  }
  record.code = problem.error
  const asked = problem.status === 401 && headers["authorization"] !== undefined
  return oauthError(problem.status, problem.error, problem.description, {
    ...(asked ? challenge : {}),
    // What still comes of the body is nobody's request.
    ...(problem.status === 408 ? { connection: "close" } : {})
  })
})

/** Where clients exchange a code or a refresh token for tokens, and give tokens back (RFC 6749, RFC 7009). */
export const TokenRoutes = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const pulse = yield* DatabasePulse
    const tokens = yield* ClientTokens

    const exchange = Effect.fnUntraced(function* (form: URLSearchParams, clientId: string) {
      switch (yield* required(form, "grant_type")) {
        case "authorization_code":
          return yield* tokens.exchangeCode({
            clientId,
            code: yield* required(form, "code"),
            verifier: parameter(form, "code_verifier"),
            redirectUri: parameter(form, "redirect_uri"),
            resources: resourcesOf(form)
          })
        case "refresh_token":
          return yield* tokens.refresh({
            clientId,
            refreshToken: yield* required(form, "refresh_token"),
            scope: parameter(form, "scope"),
            resources: resourcesOf(form)
          })
        default:
          return yield* new OAuthProblem({
            status: 400,
            error: "unsupported_grant_type",
            description: "grant_type must be authorization_code or refresh_token."
          })
      }
    })

    const issued = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const form = yield* readOAuthForm(request)
      const clientId = yield* authenticateClient(request, form)
      return oauthJson(yield* exchange(form, clientId), 200)
    })

    const revoked = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const form = yield* readOAuthForm(request)
      const clientId = yield* authenticateClient(request, form)
      yield* tokens.revoke({ clientId, token: yield* required(form, "token") })
      return HttpServerResponse.empty({ status: 200 })
    })

    yield* router.add("POST", "/token", Effect.catch(pulse.guard(issued), render))
    yield* router.add("POST", "/revoke", Effect.catch(pulse.guard(revoked), render))
  })
)
