import { Effect, Layer } from "effect"
import { HttpServerResponse, type HttpServerRequest } from "effect/http"
import { route } from "../doors/Routes.ts"
import { authenticateClient } from "./ClientAuthentication.ts"
import { ClientTokens } from "./ClientTokens.ts"
import { invalidRequest, oauthJson, OAuthProblem, oauthRenderer, readOAuthForm } from "./OAuthProblem.ts"

/** An empty parameter counts as absent (RFC 6749 section 3.2). */
const parameter = (form: URLSearchParams, name: string): string | null => form.get(name) || null

const required = (form: URLSearchParams, name: string) => {
  const value = parameter(form, name)
  return value === null ? Effect.fail(invalidRequest(`${name} is missing.`)) : Effect.succeed(value)
}

const resourcesOf = (form: URLSearchParams) => form.getAll("resource").filter((resource) => resource !== "")

/** `POST /token` exchanges a code or a refresh token for tokens (RFC 6749), `POST /revoke` revokes tokens (RFC 7009). */
export const TokenRoutes = Layer.effectDiscard(
  Effect.gen(function* () {
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

    const authenticated = Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
      const form = yield* readOAuthForm(request)
      return { form, clientId: yield* authenticateClient(request, form) }
    })

    const render = oauthRenderer("invalid_request")

    yield* route({
      method: "POST",
      path: "/token",
      render,
      *handle(request) {
        const { clientId, form } = yield* authenticated(request)
        return oauthJson(yield* exchange(form, clientId), 200)
      }
    })

    yield* route({
      method: "POST",
      path: "/revoke",
      render,
      *handle(request) {
        const { clientId, form } = yield* authenticated(request)
        yield* tokens.revoke({ clientId, token: yield* required(form, "token") })
        return HttpServerResponse.empty({ status: 200 })
      }
    })
  })
)
